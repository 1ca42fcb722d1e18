package rediscache

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	readers    = 2
	maxBatch   = 64
	maxLookups = 1024
)

// lookup is one delivery that waits for a value.
type lookup struct {
	key   string
	until time.Time
	value chan []byte // takes one; nil: nothing known
}

// get asks Redis for a value, within the budget. Nil is: nothing known.
func (s *shared) get(ctx context.Context, key string) []byte {
	if !s.breaker.closed.Load() {
		return nil
	}
	timer := time.NewTimer(s.budget)
	defer timer.Stop()
	l := &lookup{key: key, until: time.Now().Add(s.budget), value: make(chan []byte, 1)}
	select {
	case s.lookups <- l:
	default:
		s.counts.dropped.Add(1)
		return nil
	}
	select {
	case value := <-l.value:
		return value
	case <-timer.C:
		s.counts.errors.Add(1)
	case <-ctx.Done():
	}
	return nil
}

// read serves lookups: whatever waits goes to Redis in one pipeline. Two do so at a time, so that the next batch is on
// its way while the last one comes back.
func (s *shared) read(ctx context.Context) {
	batch := make([]*lookup, 0, maxBatch)
	for {
		select {
		case l := <-s.lookups:
			batch = s.gather(append(batch[:0], l))
			s.fetch(batch)
			clear(batch)
		case <-ctx.Done():
			return
		}
	}
}

func (s *shared) gather(batch []*lookup) []*lookup {
	for len(batch) < maxBatch {
		select {
		case l := <-s.lookups:
			batch = append(batch, l)
		default:
			return batch
		}
	}
	return batch
}

// fetch answers a batch. Those whose delivery has gone on are left out.
func (s *shared) fetch(batch []*lookup) {
	ctx, cancel := context.WithTimeout(context.Background(), s.budget)
	defer cancel()
	now := time.Now()
	pipe := s.redis().Pipeline()
	replies := make([]*redis.StringCmd, len(batch))
	for i, l := range batch {
		if now.Before(l.until) && s.breaker.closed.Load() {
			replies[i] = pipe.Get(ctx, l.key)
		}
	}
	if pipe.Len() > 0 {
		_, _ = pipe.Exec(ctx) // every reply has its own error
	}
	s.tell(batch, replies)
}

func (s *shared) tell(batch []*lookup, replies []*redis.StringCmd) {
	answers, failures := 0, 0
	for i, l := range batch {
		if replies[i] == nil {
			l.value <- nil
			continue
		}
		value, err := replies[i].Bytes()
		if err != nil {
			value = nil
		}
		if err == nil || errors.Is(err, redis.Nil) {
			answers++
		} else {
			failures++
		}
		l.value <- value
	}
	s.judge(answers, failures)
}

// judge tells the breaker of a batch. One answer is enough to go on: an error may be that key's alone.
func (s *shared) judge(answers, failures int) {
	s.counts.errors.Add(uint64(failures))
	switch {
	case answers > 0:
		s.breaker.answered()
	case failures > 0:
		s.breaker.failure()
	}
}

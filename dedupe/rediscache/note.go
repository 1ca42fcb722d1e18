package rediscache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxNotes     = 512
	maxNoteBatch = 64
	// writeEvery is how soon after a batch the next one may be written that is not full. A write costs this process and
	// Redis much, and a value more of it little; where deliveries come one by one, it would cost each of them more than it
	// saves. A duplicate that comes sooner to another replica is answered by the ledger.
	writeEvery = 5 * time.Millisecond
)

// note is a value on its way to Redis.
type note struct {
	key   string
	value []byte
	life  time.Duration
	made  time.Time // when the ledger was asked for what it says
}

// put writes a value some time soon, or not at all.
func (s *shared) put(n note) {
	if len(n.value) > s.maxValue || n.life < time.Millisecond {
		return
	}
	select {
	case s.notes <- n:
	default:
		s.counts.dropped.Add(1)
	}
}

// write serves notes. While Redis refuses them (full, a replica) it pauses, and what comes meanwhile is dropped.
func (s *shared) write(ctx context.Context) {
	batch := make([]note, 0, maxNoteBatch)
	var resume, last time.Time
	refused := 0
	for {
		var more bool
		if batch, more = s.nextBatch(ctx, batch[:0], last); !more {
			return
		}
		if last = time.Now(); last.Before(resume) {
			s.counts.dropped.Add(uint64(len(batch)))
			continue
		}
		if s.store(batch) {
			refused = 0
		} else {
			resume = time.Now().Add(pause(refused))
			refused++
		}
		clear(batch)
	}
}

// nextBatch waits for notes, and until they may be written: the last batch was at some time. False when ctx has ended.
func (s *shared) nextBatch(ctx context.Context, batch []note, last time.Time) ([]note, bool) {
	select {
	case n := <-s.notes:
		batch = append(batch, n)
	case <-ctx.Done():
		return nil, false
	}
	if wait := time.Until(last.Add(writeEvery)); wait > 0 && len(s.notes) < maxNoteBatch-1 && !sleep(ctx, wait) {
		return nil, false
	}
	return s.collect(batch), true
}

func (s *shared) collect(batch []note) []note {
	for len(batch) < maxNoteBatch {
		select {
		case n := <-s.notes:
			batch = append(batch, n)
		default:
			return batch
		}
	}
	return batch
}

// store writes a batch where nothing is yet. It reports false if Redis took none of it.
func (s *shared) store(batch []note) bool {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.write)
	defer cancel()
	pipe := s.redis().Pipeline()
	replies := make([]*redis.BoolCmd, 0, len(batch))
	for _, n := range batch {
		if s.now().Sub(n.made) < maxQueued {
			replies = append(replies, pipe.SetNX(ctx, n.key, n.value, n.life))
		}
	}
	s.counts.dropped.Add(uint64(len(batch) - len(replies)))
	if len(replies) == 0 {
		return true
	}
	_, _ = pipe.Exec(ctx) // every reply has its own error
	failures := 0
	for _, reply := range replies {
		if reply.Err() != nil {
			failures++
		}
	}
	s.counts.errors.Add(uint64(failures))
	s.counts.stored.Add(uint64(len(replies) - failures))
	return failures < len(replies)
}

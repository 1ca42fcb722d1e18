package rediscache

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

const markTries = 3

// shared is the tier that the replicas have in common: Redis. Its methods never fail, they only know nothing. Safe for
// concurrent use.
type shared struct {
	address  address
	tls      *tls.Config
	budget   time.Duration
	limits   limits
	maxValue int
	probeKey string
	now      func() time.Time
	breaker  *breaker
	counts   *counts
	lookups  chan *lookup
	notes    chan note

	mu     sync.Mutex // of replacing the client
	client atomic.Pointer[redis.UniversalClient]
	ended  bool
}

func newShared(c *Config, a address, counts *counts) *shared {
	s := &shared{
		address: a, tls: c.TLS, budget: c.Budget, limits: usualLimits(), maxValue: c.MaxValue, now: c.Now, counts: counts,
		breaker: newBreaker(), probeKey: prefix(c.Namespace) + "probe",
		lookups: make(chan *lookup, maxLookups), notes: make(chan note, maxNotes),
	}
	redis.SetLogger(silence{})
	client := newClient(a, c.TLS, s.limits)
	s.client.Store(&client)
	return s
}

func (s *shared) redis() redis.UniversalClient { return *s.client.Load() }

// run works until ctx ends.
func (s *shared) run(ctx context.Context) error {
	var tasks errgroup.Group
	for range readers {
		tasks.Go(func() error { s.read(ctx); return nil })
	}
	tasks.Go(func() error { s.write(ctx); return nil })
	s.recover(ctx)
	s.breaker.closed.Store(false)
	return tasks.Wait()
}

// recover closes the breaker whenever Redis answers again. Pauses grow while it does not, and go on growing where it
// keeps failing soon after.
func (s *shared) recover(ctx context.Context) {
	for try := 0; ; try++ {
		if s.probe(ctx) {
			since := time.Now()
			s.breaker.close()
			select {
			case <-s.breaker.tripped:
			case <-ctx.Done():
				return
			}
			if time.Since(since) > steady {
				try = 0
			}
		}
		if !sleep(ctx, pause(try)) {
			return
		}
	}
}

// probe asks for a key as a delivery would, on a new client, so that nothing an old connection suffers from stays. It
// asks twice: connecting may take its time, an answer may not.
func (s *shared) probe(ctx context.Context) bool {
	client := newClient(s.address, s.tls, s.limits)
	if !s.answers(ctx, client, s.limits.probe) || !s.answers(ctx, client, s.budget) {
		s.counts.errors.Add(1)
		_ = client.Close() // it may not have connected at all
		return false
	}
	return s.replace(client)
}

func (s *shared) answers(ctx context.Context, client redis.UniversalClient, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := client.Get(ctx, s.probeKey).Err()
	return err == nil || errors.Is(err, redis.Nil)
}

func (s *shared) replace(client redis.UniversalClient) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		_ = client.Close()
		return false
	}
	old := s.client.Swap(&client)
	_ = (*old).Close() // commands that still use it fail, and know nothing
	return true
}

// close releases the connections. What is called afterwards knows nothing.
func (s *shared) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	s.breaker.closed.Store(false)
	return s.redis().Close()
}

// mark makes a key a miss for a while, whatever it held and whoever writes to it. It reports whether it is done.
func (s *shared) mark(key string, value []byte) bool {
	for range markTries {
		if s.markOnce(key, value) {
			return true
		}
		s.counts.errors.Add(1)
	}
	return false
}

func (s *shared) markOnce(key string, value []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.mark)
	defer cancel()
	return s.redis().Set(ctx, key, value, markLife).Err() == nil
}

package rediscache

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	maxFailures = 3 // in a row, of a kind
	firstPause  = 250 * time.Millisecond
	longPause   = 8 * time.Second
	steady      = 30 * time.Second // of trouble-free service after which pauses begin small again
)

// breaker keeps deliveries from asking a Redis that does not answer. It starts open: Redis is asked once it has answered
// a probe. Only the recovery loop closes it. Safe for concurrent use.
type breaker struct {
	closed  atomic.Bool
	failed  atomic.Int32 // commands that brought no answer, in a row
	strange atomic.Int32 // answers that were not ours, in a row: perhaps other requests' answers
	tripped chan struct{}
}

func newBreaker() *breaker { return &breaker{tripped: make(chan struct{}, 1)} }

func (b *breaker) failure() { b.count(&b.failed) }

func (b *breaker) answered() { b.failed.Store(0) }

func (b *breaker) foreign() { b.count(&b.strange) }

func (b *breaker) familiar() {
	if b.strange.Load() != 0 {
		b.strange.Store(0)
	}
}

func (b *breaker) count(kind *atomic.Int32) {
	if kind.Add(1) < maxFailures || !b.closed.CompareAndSwap(true, false) {
		return
	}
	select {
	case b.tripped <- struct{}{}:
	default:
	}
}

func (b *breaker) close() {
	b.failed.Store(0)
	b.strange.Store(0)
	b.closed.Store(true)
}

// pause is the jittered time before the given try, which counts from 0.
func pause(try int) time.Duration {
	whole := longPause
	if try < 5 {
		whole = firstPause << try
	}
	return whole/2 + rand.N(whole)
}

// sleep reports whether the time passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

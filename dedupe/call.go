package dedupe

import (
	"context"
	"iter"
	"sync/atomic"
)

// call is one caller's item and its answer.
type call[T, R any] struct {
	item   T
	answer R
	err    error
	done   chan struct{}
	state  atomic.Uint32
}

// A call is told or left, whichever comes first.
const (
	awaited uint32 = iota
	told
	left
)

func newCall[T, R any](item T) *call[T, R] {
	return &call[T, R]{item: item, done: make(chan struct{})}
}

// wait returns the answer, or ctx's error when that ends first. Called once.
func (c *call[T, R]) wait(ctx context.Context) (R, error) {
	select {
	case <-c.done:
		return c.answer, c.err
	case <-ctx.Done():
	}
	if !c.state.CompareAndSwap(awaited, left) {
		<-c.done
		return c.answer, c.err
	}
	var none R
	return none, context.Cause(ctx)
}

// reply is what a call's wait returned.
type reply[R any] struct {
	answer R
	err    error
}

// replies yields what waiting for calls brings, as it comes, each with its call's place.
func replies[T, R any](ctx context.Context, calls []*call[T, R]) iter.Seq2[int, reply[R]] {
	type placed struct {
		i     int
		reply reply[R]
	}
	came := make(chan placed, len(calls))
	for i, c := range calls {
		go func() {
			answer, err := c.wait(ctx)
			came <- placed{i, reply[R]{answer, err}}
		}()
	}
	return func(yield func(int, reply[R]) bool) {
		for range calls {
			if next := <-came; !yield(next.i, next.reply) {
				return
			}
		}
	}
}

// tell gives the caller its answer. It is false when nobody waits for it any more.
func (c *call[T, R]) tell(answer R, err error) bool {
	if !c.state.CompareAndSwap(awaited, told) {
		return false
	}
	c.answer, c.err = answer, err
	close(c.done)
	return true
}

func (c *call[T, R]) abandoned() bool { return c.state.Load() == left }

package reload

import (
	"context"
	"time"
)

// A set of files that changes while it is read is read again, this often and after this pause. Whoever writes for longer
// is caught by the next comparison.
const (
	settleTries = 10
	settlePause = 20 * time.Millisecond
)

// Settled calls load with passes until one saw files that did not change meanwhile, and returns that pass and what load
// returned. load may be called several times and must only read.
func Settled[T any](ctx context.Context, load func(*Reading) (T, error)) (*Reading, T, error) {
	for try := 1; ; try++ {
		reading := NewReading()
		loaded, err := load(reading)
		if try == settleTries || !reading.moved(reading.Again()) {
			return reading, loaded, err
		}
		select {
		case <-ctx.Done():
			return reading, loaded, context.Cause(ctx)
		case <-time.After(settlePause):
		}
	}
}

package dedupe

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// again waits a moment after a store's error and tells whether to try once more: not after a row was refused for good,
// and not when ctx has ended.
func again(ctx context.Context, err error, try int) bool {
	if errors.Is(err, ErrRow) || ctx.Err() != nil {
		return false
	}
	pause := min(firstPause<<min(try, 10), longestPause)
	timer := time.NewTimer(pause/2 + rand.N(pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package postgres

import (
	"sync"
	"time"
)

const (
	// commitMargin is how long a transaction may take to commit without being overlooked until the next full look.
	commitMargin = 10 * time.Minute
	// fullLook is how often a sweep looks at everything all the same.
	fullLook = time.Hour
	// always is longer than any ledger.
	always = 100 * 365 * 24 * time.Hour
)

// frontier remembers how far back a sweep must look. While somebody's long transaction keeps vacuum from its work, the
// old end of an index is full of entries of rows that are gone, and a sweep that begins there reads them all again, each
// time. New rows come at the young end, but for those whose transaction is slow to commit. Safe for concurrent use.
type frontier struct {
	mu    sync.Mutex
	clear time.Time // when the last look began that left nothing
	full  time.Time // when the last look at everything began that left nothing
}

// back is how far before now to look.
func (f *frontier) back(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full.IsZero() || now.Sub(f.full) > fullLook {
		return always
	}
	return now.Sub(f.clear) + commitMargin
}

// cleared tells that a look left nothing.
func (f *frontier) cleared(began time.Time, back time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear = began
	if back == always {
		f.full = began
	}
}

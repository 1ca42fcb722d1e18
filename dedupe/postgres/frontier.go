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
	// deepSweep is how often looks that come often go back by commitMargin. The others go back by swiftMargin only, because
	// behind a long transaction ten minutes of a busy ledger are hundreds of thousands of entries.
	deepSweep = 2 * time.Minute
)

// frontier remembers how far back a sweep must look. While somebody's long transaction keeps vacuum from its work, the
// old end of an index is full of entries of rows that are gone, and a sweep that begins there reads them all again, each
// time. New rows come at the young end, but for those whose transaction is slow to commit.
//
// All its times are the database's: what this machine's clock says, and how it jumps, is nothing to it. Safe for
// concurrent use.
type frontier struct {
	often bool // looks come every few seconds

	mu    sync.Mutex
	now   time.Time // of the last look
	clear time.Time // of the last look that left nothing
	deep  time.Time // of the last look back by commitMargin that left nothing
	full  time.Time // of the last look at everything that left nothing; zero: never
	at    time.Time // where a sweep that has not come to its end goes on; zero: at the beginning
}

// since is where a look must begin that is to leave nothing; zero: at the beginning of everything.
func (f *frontier) since() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.full.IsZero() || f.now.Sub(f.full) > fullLook:
		return time.Time{}
	case !f.often || f.now.Sub(f.deep) > deepSweep:
		return f.clear.Add(-commitMargin)
	default:
		return f.clear.Add(-swiftMargin)
	}
}

// next is where the next batch begins: behind the last one while a sweep is on, so that the entries of what is just gone
// are not read again for every batch.
func (f *frontier) next() time.Time {
	since := f.since()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.After(since) {
		return f.at
	}
	return since
}

// underway tells that the last batch was full.
func (f *frontier) underway() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.at.IsZero()
}

// reached tells that a batch was full up to here; zero: it was not, and the sweep is at its end.
func (f *frontier) reached(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// looked tells when a look from since on was made, and whether it left nothing. A clock that went back ends all that is
// known.
func (f *frontier) looked(now, since time.Time, nothing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.now) {
		f.clear, f.deep, f.full, f.at = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		nothing = nothing && since.IsZero()
	}
	f.now = now
	if !nothing {
		return
	}
	if since.IsZero() {
		f.deep, f.full = now, now
	} else if !since.After(f.clear.Add(-commitMargin)) {
		f.deep = now
	}
	f.clear = now
}

package dedupe

import (
	"errors"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// maxRefused is how many jobs of a scope are passed over before the scope as a whole is.
const maxRefused = 8

// refusals remembers jobs whose claim alone the store refused: somebody locks their row, and each look that chose them
// again would wait for that lock. It holds no more than maxRefused jobs of a scope. Safe for concurrent use.
type refusals struct {
	last time.Duration // how long a job is passed over

	mu    sync.Mutex
	until map[delivery.Scope]map[delivery.EventID]time.Time
}

func newRefusals(last time.Duration) *refusals {
	return &refusals{last: last, until: map[delivery.Scope]map[delivery.EventID]time.Time{}}
}

// refused tells an error that is about a single row from one that may be about everything.
func refused(err error) bool { return errors.Is(err, ErrBatch) || errors.Is(err, ErrRow) }

// add remembers a job.
func (r *refusals) add(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := r.until[key.Scope]
	if jobs == nil {
		jobs = map[delivery.EventID]time.Time{}
		r.until[key.Scope] = jobs
	}
	if len(jobs) < maxRefused {
		jobs[key.EventID] = time.Now().Add(r.last)
	}
}

// of is how many jobs of a scope are passed over, without those whose time is over.
func (r *refusals) of(scope delivery.Scope) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := r.until[scope]
	for id, until := range jobs {
		if time.Now().After(until) {
			delete(jobs, id)
		}
	}
	if len(jobs) == 0 {
		delete(r.until, scope)
	}
	return len(jobs)
}

// has tells whether a job is passed over, until of forgets it.
func (r *refusals) has(key Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, is := r.until[key.Scope][key.EventID]
	return is
}

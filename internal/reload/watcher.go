package reload

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Config is what a Watcher is made of.
type Config struct {
	Interval time.Duration // the longest time from a change to the call of Apply; contents are compared twice as often
	First    *Reading      // what is in force
	// Apply reads everything anew and puts it in force. An error means that what is in force stays; it is not called again
	// for the same contents. It returns the pass that it judged.
	Apply func(ctx context.Context) (*Reading, error)
	Kick  <-chan struct{} // applies at once, whatever changed; nil: never
}

// Watcher compares the contents of files and applies them when they change.
type Watcher struct {
	config    Config
	last      *Reading
	valid     bool
	compared  time.Time    // when the files were last seen to be as in last
	refreshed atomic.Int64 // Unix nanoseconds
	took      atomic.Pointer[Propagation]
}

// Propagation is how long changes of the files took to their effect, as this process has measured it: from the time that
// the file system has for the change, or, where that is older, from the last comparison that did not see it yet. It does
// not know how long the change took to the files.
type Propagation struct {
	Last  time.Duration
	Worst time.Duration
	Count int // changes that came into force
}

// New makes a Watcher; Run starts it.
func New(c Config) (*Watcher, error) {
	if c.Interval <= 0 || c.First == nil || c.Apply == nil {
		return nil, errors.New("reload: an interval, a first reading and Apply are required")
	}
	w := &Watcher{config: c, last: c.First, valid: true, compared: time.Now()}
	w.took.Store(&Propagation{})
	w.refreshed.Store(time.Now().UnixNano())
	return w, nil
}

// Refreshed is when the files were last seen to say what is in force. Safe for concurrent use.
func (w *Watcher) Refreshed() time.Time { return time.Unix(0, w.refreshed.Load()) }

// Propagation is what was measured so far. Safe for concurrent use.
func (w *Watcher) Propagation() Propagation { return *w.took.Load() }

// Run compares until ctx ends, and returns nil then.
func (w *Watcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.config.Interval / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.compare(ctx, false)
		case <-w.config.Kick:
			w.compare(ctx, true)
		}
	}
}

func (w *Watcher) compare(ctx context.Context, always bool) {
	looked := time.Now()
	if same := w.last.Same(w.last.Again()); !same || always {
		reading, err := w.config.Apply(ctx)
		if !same && err == nil {
			w.measure(reading)
		}
		w.last, w.valid = reading, err == nil
	}
	w.compared = looked
	if w.valid {
		w.refreshed.Store(time.Now().UnixNano())
	}
}

func (w *Watcher) measure(applied *Reading) {
	took := time.Since(applied.changed(w.last, w.compared))
	so := w.took.Load()
	w.took.Store(&Propagation{Last: took, Worst: max(so.Worst, took), Count: so.Count + 1})
}

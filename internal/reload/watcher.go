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
	refreshed atomic.Int64 // Unix nanoseconds
}

// New makes a Watcher; Run starts it.
func New(c Config) (*Watcher, error) {
	if c.Interval <= 0 || c.First == nil || c.Apply == nil {
		return nil, errors.New("reload: an interval, a first reading and Apply are required")
	}
	w := &Watcher{config: c, last: c.First, valid: true}
	w.refreshed.Store(time.Now().UnixNano())
	return w, nil
}

// Refreshed is when the files were last seen to say what is in force. Safe for concurrent use.
func (w *Watcher) Refreshed() time.Time { return time.Unix(0, w.refreshed.Load()) }

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
	if always || !w.last.Same(w.last.Again()) {
		reading, err := w.config.Apply(ctx)
		w.last, w.valid = reading, err == nil
	}
	if w.valid {
		w.refreshed.Store(time.Now().UnixNano())
	}
}

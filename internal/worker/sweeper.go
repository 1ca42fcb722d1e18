package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Sweep is the part of a ledger that a Sweeper needs; see dedupe.Desk.
type Sweep interface {
	Sweep(ctx context.Context) (dedupe.Swept, error)
}

// How a sweep leaves room for deliveries: after a batch it rests restShare times as long as the batch took, so that it
// uses a quarter of one connection's time, and less of a database that is slow already. A batch of 500 receipts takes 3 to 5
// ms on a quiet machine: a sweeper forgets 25,000 a second and more there, several share the work.
const (
	restShare   = 3
	leastRest   = 5 * time.Millisecond
	longestRest = 5 * time.Second
)

// SweeperConfig is what a Sweeper is made of. Ledger must be set.
type SweeperConfig struct {
	Ledger  Sweep
	Every   time.Duration // between sweeps, half of it more or less so that replicas spread; 0: 3 s
	Timeout time.Duration // of one batch; 0: 30 s
	Log     *slog.Logger  // nil: nowhere
	// Wait waits for so long, or until ctx has ended; nil: by a timer. With Now it is a test's.
	Wait func(ctx context.Context, pause time.Duration)
	Now  func() time.Time // nil: time.Now, the monotonic part of which no jump of the clock reaches
}

// Sweeper settles claims whose owner never reported, and forgets what has outlived its retention, batch by batch.
type Sweeper struct {
	config  SweeperConfig
	failing bool
}

// NewSweeper makes a Sweeper; Run starts it.
func NewSweeper(c SweeperConfig) (*Sweeper, error) {
	if c.Ledger == nil {
		return nil, errors.New("worker: a sweeper needs a ledger")
	}
	if c.Every == 0 {
		c.Every = 3 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Sweeper{config: c}, nil
}

// Run sweeps until ctx ends, and returns nil then. A ledger out of reach is tried again.
func (s *Sweeper) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		began := s.config.Now()
		pause := s.config.Every/2 + rand.N(s.config.Every) //nolint:gosec // spreads replicas, guards nothing
		if s.batch(ctx) {
			pause = rest(s.config.Now().Sub(began))
		}
		if ctx.Err() == nil {
			s.config.Wait(ctx, pause)
		}
	}
	return nil
}

// rest is how long to leave the database alone after a batch that was not the last.
func rest(took time.Duration) time.Duration {
	return min(max(restShare*took, leastRest), longestRest)
}

func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// batch sweeps once and tells whether more is waiting that is worth going on with: not where nothing could be done.
func (s *Sweeper) batch(ctx context.Context) (more bool) {
	bounded, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	swept, err := s.config.Ledger.Sweep(bounded)
	if ctx.Err() != nil {
		return false
	}
	s.tell(ctx, swept, err)
	return swept.More && (err == nil || swept.Expired+swept.Forgotten+swept.Jobs > 0)
}

// tell logs a failure once until it is over, and what was swept.
func (s *Sweeper) tell(ctx context.Context, swept dedupe.Swept, err error) {
	switch {
	case err != nil && !s.failing:
		s.config.Log.WarnContext(ctx, "the ledger cannot be swept", "error", err)
	case err == nil && s.failing:
		s.config.Log.InfoContext(ctx, "the ledger is swept again")
	}
	s.failing = err != nil
	if swept.Expired > 0 {
		s.config.Log.WarnContext(ctx, "claims had run out: their owner never reported", "claims", swept.Expired)
	}
	if swept.Forgotten+swept.Jobs > 0 {
		s.config.Log.DebugContext(ctx, "retention is over", "receipts", swept.Forgotten, "requests", swept.Jobs)
	}
}

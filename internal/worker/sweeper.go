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

// SweeperConfig is what a Sweeper is made of. Ledger must be set.
type SweeperConfig struct {
	Ledger  Sweep
	Every   time.Duration // between sweeps, half of it more or less so that replicas spread; 0: 3 s
	Timeout time.Duration // of one batch; 0: 30 s
	Log     *slog.Logger  // nil: nowhere
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
	return &Sweeper{config: c}, nil
}

// Run sweeps until ctx ends, and returns nil then. A ledger out of reach is tried again.
func (s *Sweeper) Run(ctx context.Context) error {
	for {
		pause := s.config.Every/2 + rand.N(s.config.Every) //nolint:gosec // spreads replicas, guards nothing
		if s.batch(ctx) {
			pause = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// batch sweeps once and tells whether more is waiting.
func (s *Sweeper) batch(ctx context.Context) (more bool) {
	bounded, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	swept, err := s.config.Ledger.Sweep(bounded)
	if ctx.Err() != nil {
		return false
	}
	s.tell(ctx, swept, err)
	return err == nil && swept.More
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

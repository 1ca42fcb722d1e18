package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
)

// Notary is what seals evidence; see audit.Notary. One round is bounded.
type Notary interface {
	Seal(ctx context.Context) (audit.Sealed, error)
}

// CheckpointerConfig is what a Checkpointer is made of. Notary must be set.
type CheckpointerConfig struct {
	Notary  Notary
	Every   time.Duration // between rounds, half of it more or less so that replicas spread; 0: 60 s
	Timeout time.Duration // of one round; 0: 30 s
	Log     *slog.Logger  // nil: nowhere
	// Wait pauses until d has passed or ctx has ended; nil: by a timer.
	Wait func(ctx context.Context, d time.Duration)
}

// Checkpointer seals new evidence, round by round, and tells the log of every checkpoint: a log that is kept elsewhere is what
// the ledger can be compared with later.
type Checkpointer struct {
	config  CheckpointerConfig
	failing bool
	sealed  atomic.Int64 // Unix time in ns when nothing was left to seal
}

// roundRest is between rounds when there is more to do.
const roundRest = 100 * time.Millisecond

// NewCheckpointer makes a Checkpointer; Run starts it.
func NewCheckpointer(c CheckpointerConfig) (*Checkpointer, error) {
	if c.Notary == nil {
		return nil, errors.New("worker: a checkpointer needs a notary")
	}
	if c.Every == 0 {
		c.Every = time.Minute
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
	return &Checkpointer{config: c}, nil
}

// Run seals at once and then again and again until ctx ends, and returns nil then. A ledger out of reach is tried again.
func (c *Checkpointer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		pause := c.config.Every/2 + rand.N(c.config.Every) //nolint:gosec // spreads replicas, guards nothing
		switch {
		case c.round(ctx):
			pause = roundRest
		case c.failing:
			pause /= 4
		}
		c.config.Wait(ctx, pause)
	}
	return nil
}

// Sealed is when this process last saw all evidence sealed; zero: not yet. Safe for concurrent use.
func (c *Checkpointer) Sealed() time.Time {
	if at := c.sealed.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// round seals once and tells whether more is waiting.
func (c *Checkpointer) round(ctx context.Context) (more bool) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	sealed, err := c.config.Notary.Seal(bounded)
	c.tell(ctx, sealed, err)
	if err == nil && !sealed.More {
		c.sealed.Store(began.UnixNano())
	}
	return err == nil && sealed.More
}

// tell logs what was sealed, and a failure once until it is over.
func (c *Checkpointer) tell(ctx context.Context, sealed audit.Sealed, err error) {
	for i := range sealed.Made {
		made := &sealed.Made[i]
		c.config.Log.InfoContext(ctx, "checkpoint", "scope", string(made.Scope), "number", made.Number,
			"rows", audit.Rows(made), "oldest", made.Oldest, "sum", made.Sum.String())
	}
	for _, scope := range sealed.Gone {
		c.config.Log.ErrorContext(ctx, "evidence is gone before its time: sidecar audit verify tells more", "scope", string(scope))
	}
	switch {
	case ctx.Err() != nil:
	case err != nil && !c.failing:
		c.config.Log.WarnContext(ctx, "evidence cannot be sealed", "error", err)
	case err == nil && c.failing:
		c.config.Log.InfoContext(ctx, "evidence is sealed again")
	}
	c.failing = err != nil
}

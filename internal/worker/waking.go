package worker

import (
	"context"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Waking is a ledger that wakes a dispatcher for every job that it stores, so that the replica that acknowledged an event
// need not find it.
type Waking struct {
	dedupe.Ledger
	Dispatcher *Dispatcher
}

// Claim implements dedupe.Ledger.
func (w Waking) Claim(ctx context.Context, r dedupe.Request) (dedupe.Decision, error) {
	decision, err := w.Ledger.Claim(ctx, r)
	if err == nil && decision.First {
		w.Dispatcher.wakeFor(r.Scope, 0)
	}
	return decision, err
}

// Settle implements dedupe.Ledger.
func (w Waking) Settle(ctx context.Context, c dedupe.Claim, s dedupe.Settlement) error {
	err := w.Ledger.Settle(ctx, c, s)
	if err == nil && s.To == dedupe.Queued {
		w.Dispatcher.wakeFor(c.Scope, s.After)
	}
	return err
}

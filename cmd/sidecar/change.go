package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// change is one act of a person on one event: who and why are mandatory and recorded. do returns what to say when it is
// done. Wrong usage is told before anybody asks the ledger.
func (p *program) change(ctx context.Context, usage string, args []string, more func(*flags),
	do func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error),
) error {
	flags := p.newFlags(usage)
	by := flags.actor()
	asJSON := flags.Bool("json", false, "as JSON")
	if more != nil {
		more(flags)
	}
	event, err := flags.event(args)
	if err != nil {
		return err
	}
	if err := checkActor(by); err != nil {
		return err
	}
	return p.atDesk(ctx, func(desk dedupe.Desk) error {
		receipt, err := event.find(ctx, desk)
		if err != nil {
			return err
		}
		said, err := do(desk, receipt, *by)
		if errors.Is(err, dedupe.ErrState) {
			return refused(ctx, desk, receipt)
		}
		if err != nil {
			return err
		}
		if *asJSON {
			return p.json(map[string]string{
				"scope": string(receipt.Scope), "event_id": string(receipt.EventID), "reference": receipt.Reference, "done": said,
			})
		}
		_, err = fmt.Fprintf(p.out, "%s %s (%s) %s\n", receipt.Scope, receipt.EventID, receipt.Reference, said)
		return err
	})
}

// refused tells why an act on a receipt ended with ErrState: what its state is by now, and whether that has changed since
// it was read.
func refused(ctx context.Context, desk dedupe.Desk, before dedupe.Receipt) error {
	now, err := desk.Receipt(ctx, before.Scope, before.EventID)
	switch {
	case err != nil:
		return fmt.Errorf("%s in %s: %w, and what it is now cannot be told: %w", before.EventID, before.Scope, dedupe.ErrState, err)
	case now.State != before.State || !now.Changed.Equal(before.Changed) || now.HasJob != before.HasJob:
		return fmt.Errorf("the state of %s in %s has changed: it is %s now", now.EventID, now.Scope, now.State)
	}
	return fmt.Errorf("%s in %s is %s: %w", now.EventID, now.Scope, now.State, dedupe.ErrState)
}

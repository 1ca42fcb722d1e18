package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// change is one act of a person on one event: who and why are mandatory and recorded. do returns what to say when it is
// done.
func (p *program) change(ctx context.Context, usage string, args []string, more func(*flags),
	do func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error),
) error {
	flags := p.newFlags(usage)
	by := flags.actor()
	asJSON := flags.Bool("json", false, "as JSON")
	if more != nil {
		more(flags)
	}
	event, err := flags.parse(args, 1, 2)
	if err != nil {
		return err
	}
	if err := checkActor(by); err != nil {
		return err
	}
	return p.atDesk(ctx, func(desk dedupe.Desk) error {
		receipt, err := named(ctx, desk, event)
		if err != nil {
			return err
		}
		said, err := do(desk, receipt, *by)
		if errors.Is(err, dedupe.ErrState) {
			return fmt.Errorf("%s in %s is %s: %w", receipt.EventID, receipt.Scope, receipt.State, err)
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

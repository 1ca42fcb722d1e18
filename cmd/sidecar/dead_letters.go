package main

import (
	"context"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func (p *program) deadLetters(ctx context.Context, args []string) error {
	word, rest, err := oneOf("dead-letters", args, "list", "show", "replay", "close")
	if err != nil {
		return err
	}
	switch word {
	case "list":
		return p.list(ctx, "dead-letters list [SCOPE] [--limit N] [--offset N] [--json]", rest, []dedupe.State{dedupe.Dead})
	case "show":
		return p.show(ctx, "dead-letters show (SCOPE EVENT_ID | REFERENCE) [--json]", rest)
	case "replay":
		return p.replay(ctx, rest)
	default:
		return p.closeDead(ctx, rest)
	}
}

func (p *program) replay(ctx context.Context, args []string) error {
	return p.change(ctx, "dead-letters replay (SCOPE EVENT_ID | REFERENCE) --actor WHO --reason WHY", args, nil,
		func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error) {
			state, err := desk.Replay(ctx, r.Scope, r.EventID, by)
			if state == dedupe.Queued {
				return "queued: a worker sends the kept request again", err
			}
			return "reopened: the sender's next delivery runs again", err
		})
}

func (p *program) closeDead(ctx context.Context, args []string) error {
	answer := 200
	return p.change(ctx, "dead-letters close (SCOPE EVENT_ID | REFERENCE) --actor WHO --reason WHY [--answer STATUS]", args,
		func(f *flags) { f.IntVar(&answer, "answer", 200, "`status` that later deliveries get") },
		func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error) {
			if answer < 200 || answer > 599 {
				return "", usagef("--answer must be from 200 to 599")
			}
			err := desk.Close(ctx, r.Scope, r.EventID, answer, by)
			return fmt.Sprintf("closed: later deliveries get %d", answer), err
		})
}

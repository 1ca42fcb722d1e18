package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

func (p *program) deadLetters(ctx context.Context, args []string) error {
	word, rest, err := p.oneOf("dead-letters", args, "list", "show", "replay", "close")
	if err != nil {
		return err
	}
	switch word {
	case "list":
		return p.list(ctx, "dead-letters list [SCOPE] [--limit N] [--offset N] [--json]", rest, []dedupe.State{dedupe.Dead}, p.showDead)
	case "show":
		return p.show(ctx, "dead-letters show (SCOPE EVENT_ID | REFERENCE) [--json]", rest)
	case "replay":
		return p.replay(ctx, rest)
	default:
		return p.closeDead(ctx, rest)
	}
}

// showDead prints dead letters with what the integrations file says of them, where it can be read.
func (p *program) showDead(found []dedupe.Receipt, asJSON bool) error {
	var about func(delivery.Scope) console.About
	if settings, err := p.settings(); err == nil {
		if set, err := p.integrations(settings); err == nil {
			about = aboutDeadLetters(set)
		}
	}
	letters := console.NewDeadLetters(found, about, time.Now())
	if asJSON {
		return p.json(letters)
	}
	return console.DeadLetters(p.out, letters)
}

func aboutDeadLetters(set *config.Set) func(delivery.Scope) console.About {
	return func(scope delivery.Scope) console.About {
		i, err := set.Find(scope)
		if err != nil {
			return console.About{}
		}
		return console.About{Owner: i.Owner, Keep: i.Retention.DeadLetter}
	}
}

func (p *program) replay(ctx context.Context, args []string) error {
	return p.change(ctx, "dead-letters replay (SCOPE EVENT_ID | REFERENCE) --actor WHO --reason WHY", args, nil,
		func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error) {
			state, err := desk.Replay(ctx, r.Scope, r.EventID, by)
			switch {
			case state == dedupe.Queued && r.JobSealed != nil:
				return "queued, but " + r.JobSealed.Cause(), err
			case state == dedupe.Queued:
				return "queued: a worker sends the kept request again", err
			}
			return "reopened: the sender's next delivery runs again", err
		})
}

func (p *program) closeDead(ctx context.Context, args []string) error {
	answer := 200
	return p.change(ctx, "dead-letters close (SCOPE EVENT_ID | REFERENCE) --actor WHO --reason WHY [--answer STATUS]", args,
		func(f *flags) {
			f.Func("answer", "`status` that later deliveries get, from 200 to 599; 200 unless it is given", func(text string) (err error) {
				answer, err = parseAnswer(text)
				return err
			})
		},
		func(desk dedupe.Desk, r dedupe.Receipt, by dedupe.Act) (string, error) {
			err := desk.Close(ctx, r.Scope, r.EventID, answer, by)
			return fmt.Sprintf("closed: later deliveries get %d", answer), err
		})
}

func parseAnswer(text string) (int, error) {
	status, err := strconv.Atoi(text)
	if err != nil || status < 200 || status > 599 {
		return 0, errors.New("want a status from 200 to 599")
	}
	return status, nil
}

// aboutDeadLetters asks the configuration in force.
func (s *server) aboutDeadLetters(scope delivery.Scope) console.About {
	return aboutDeadLetters(s.active.state.Load().set)(scope)
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func (p *program) pause(ctx context.Context, args []string) error {
	return p.hold(ctx, "pause", args, (*dedupe.Keeper).Pause, "paused: every replica follows within 2 s")
}

func (p *program) resume(ctx context.Context, args []string) error {
	return p.hold(ctx, "resume", args, (*dedupe.Keeper).Resume, "goes on: every replica follows within 2 s")
}

// hold records a person's word on whether an integration is held.
func (p *program) hold(ctx context.Context, verb string, args []string,
	do func(*dedupe.Keeper, context.Context, delivery.Scope, dedupe.Act) error, said string,
) error {
	flags := p.newFlags(verb + " SCOPE --actor WHO --reason WHY [--json]")
	by := flags.actor()
	asJSON := flags.Bool("json", false, "as JSON")
	named, err := flags.parse(args, 1, 1)
	if err != nil {
		return err
	}
	scope, err := delivery.ParseScope(named[0])
	if err != nil {
		return usagef("%v", err)
	}
	if err := checkActor(by); err != nil {
		return err
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	if err := p.knows(settings, scope); err != nil {
		return err
	}
	keeper, closeLedger, err := p.openKeeper(ctx, settings)
	if err != nil {
		return err
	}
	defer closeLedger()
	err = do(keeper, ctx, scope, *by)
	if errors.Is(err, dedupe.ErrState) {
		return fmt.Errorf("%s: nothing to %s", scope, verb)
	}
	if err != nil {
		return err
	}
	if *asJSON {
		return p.json(map[string]string{"scope": string(scope), "done": verb})
	}
	_, err = fmt.Fprintf(p.out, "%s %s\n", scope, said)
	return err
}

// knows tells a scope that nothing has from one that the integrations file has. Where the file cannot be read, the person
// is believed.
func (p *program) knows(settings config.Settings, scope delivery.Scope) error {
	set, err := p.integrations(settings)
	if err != nil {
		return nil //nolint:nilerr // a command works without
	}
	if _, err := set.Find(scope); err != nil {
		return usagef("%v", err)
	}
	return nil
}

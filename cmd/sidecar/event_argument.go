package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/admin"
)

// named finds the one receipt that SCOPE EVENT_ID or an event reference names.
func named(ctx context.Context, desk dedupe.Desk, args []string) (dedupe.Receipt, error) {
	if len(args) == 2 {
		scope, err := delivery.ParseScope(args[0])
		if err != nil {
			return dedupe.Receipt{}, usagef("%v", err)
		}
		id, err := delivery.ParseEventID(args[1])
		if err != nil {
			return dedupe.Receipt{}, usagef("%v", err)
		}
		receipt, err := desk.Receipt(ctx, scope, id)
		if errors.Is(err, dedupe.ErrNotFound) {
			return receipt, fmt.Errorf("there is no receipt for %s in %s", args[1], scope)
		}
		return receipt, err
	}
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(args[0]) {
		return dedupe.Receipt{}, usagef("want SCOPE EVENT_ID, or an event reference of 16 hex digits")
	}
	found, err := desk.Find(ctx, args[0])
	switch {
	case err != nil:
		return dedupe.Receipt{}, err
	case len(found) == 0:
		return dedupe.Receipt{}, fmt.Errorf("there is no receipt with reference %s", args[0])
	case len(found) > 1:
		return dedupe.Receipt{}, usagef("%d receipts have reference %s: name SCOPE EVENT_ID", len(found), args[0])
	}
	return found[0], nil
}

// actor adds the flags that every change needs.
func (f *flags) actor() *dedupe.Act {
	by := &dedupe.Act{}
	f.StringVar(&by.Actor, "actor", "", "`who` does this; recorded")
	f.StringVar(&by.Reason, "reason", "", "`why`; recorded")
	return by
}

func checkActor(by *dedupe.Act) error {
	if err := admin.CheckAct(*by); err != nil {
		return usagef("--%v", err)
	}
	return nil
}

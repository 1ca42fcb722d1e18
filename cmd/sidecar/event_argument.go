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

// eventName is what names one event on the command line: SCOPE EVENT_ID, or an event reference.
type eventName struct {
	scope     delivery.Scope
	id        delivery.EventID
	reference string // instead of both
}

// event reads the flags and the one event that the other arguments name. It asks nobody whether there is such an event.
func (f *flags) event(args []string) (eventName, error) {
	plain, err := f.parse(args, 1, 2)
	if err != nil {
		return eventName{}, err
	}
	return parseEvent(plain)
}

func parseEvent(args []string) (name eventName, err error) {
	if len(args) == 1 {
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(args[0]) {
			return name, usagef("want SCOPE EVENT_ID, or an event reference of 16 hex digits")
		}
		name.reference = args[0]
		return name, nil
	}
	if name.scope, err = delivery.ParseScope(args[0]); err != nil {
		return name, usagef("%v", err)
	}
	if name.id, err = delivery.ParseEventID(args[1]); err != nil {
		return name, usagef("%v", err)
	}
	return name, nil
}

// find finds the one receipt that has the name.
func (n eventName) find(ctx context.Context, desk dedupe.Desk) (dedupe.Receipt, error) {
	if n.reference == "" {
		receipt, err := desk.Receipt(ctx, n.scope, n.id)
		if errors.Is(err, dedupe.ErrNotFound) {
			return receipt, fmt.Errorf("there is no receipt for %s in %s", n.id, n.scope)
		}
		return receipt, err
	}
	found, err := desk.Find(ctx, n.reference)
	switch {
	case err != nil:
		return dedupe.Receipt{}, err
	case len(found) == 0:
		return dedupe.Receipt{}, fmt.Errorf("there is no receipt with reference %s", n.reference)
	case len(found) > 1:
		return dedupe.Receipt{}, usagef("%d receipts have reference %s: name SCOPE EVENT_ID", len(found), n.reference)
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

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

const (
	exportedEvents      = 500 // read at once
	exportedCheckpoints = 100
)

var errSince = errors.New("want a time like 2026-11-01T00:00:00Z")

// export writes what the ledger knows as lines of JSON.
func (p *program) export(ctx context.Context, args []string) error {
	e := exporting{buffer: bufio.NewWriterSize(p.out, 64<<10)}
	flags := p.newFlags("audit export [SCOPE] [--since TIME]")
	flags.Func("since", "only what changed at that `time` (RFC 3339) or later", func(text string) (err error) {
		if e.since, err = time.Parse(time.RFC3339, text); err != nil {
			err = errSince
		}
		return err
	})
	flags.Bool("json", true, "as lines of JSON, always")
	named, err := flags.parse(args, 0, 1)
	if err != nil {
		return err
	}
	if e.scopes, err = scopesNamed(named); err != nil {
		return err
	}
	e.lines = json.NewEncoder(e.buffer)
	e.lines.SetEscapeHTML(false)
	return p.atEvidence(ctx, func(s *store) error {
		e.store = s
		if err := knows(ctx, s.evidence, e.scopes); err != nil {
			return err
		}
		if err := e.run(ctx); err != nil {
			_ = e.buffer.Flush() // what is there; the error is told
			return err
		}
		return e.buffer.Flush()
	})
}

// exporting writes one line for each thing, and holds a page of them at most.
type exporting struct {
	store  *store
	scopes []delivery.Scope // none: all
	since  time.Time
	buffer *bufio.Writer
	lines  *json.Encoder
}

func (e *exporting) run(ctx context.Context) error {
	scopes := e.scopes
	if len(scopes) == 0 {
		var err error
		if scopes, err = e.store.evidence.Scopes(ctx); err != nil {
			return err
		}
	}
	for _, scope := range scopes {
		if err := e.events(ctx, scope); err != nil {
			return err
		}
		if err := e.checkpoints(ctx, scope); err != nil {
			return err
		}
	}
	if err := e.pauses(ctx); err != nil {
		return err
	}
	if err := e.rotations(ctx); err != nil {
		return err
	}
	return e.credentials(ctx)
}

// asked tells whether something of a scope and a time belongs into the export.
func (e *exporting) asked(scope delivery.Scope, at time.Time) bool {
	return !at.Before(e.since) && (len(e.scopes) == 0 || slices.Contains(e.scopes, scope))
}

func (e *exporting) events(ctx context.Context, scope delivery.Scope) error {
	for after := delivery.EventID(""); ; {
		page, err := e.store.evidence.History(ctx, scope, after, exportedEvents)
		if err != nil {
			return err
		}
		for i := range page {
			after = page[i].EventID
			if !e.asked(scope, page[i].Changed) {
				continue
			}
			if err := e.lines.Encode(console.NewEventLine(&page[i])); err != nil {
				return err
			}
		}
		if len(page) < exportedEvents {
			return nil
		}
	}
}

func (e *exporting) checkpoints(ctx context.Context, scope delivery.Scope) error {
	for from := int64(0); ; {
		page, err := e.store.evidence.Chain(ctx, scope, from, exportedCheckpoints)
		if err != nil {
			return err
		}
		for i := range page {
			from = page[i].Number + 1
			if !e.asked(scope, page[i].At) {
				continue
			}
			if err := e.lines.Encode(console.NewCheckpointLine(&page[i])); err != nil {
				return err
			}
		}
		if len(page) < exportedCheckpoints {
			return nil
		}
	}
}

// pauses are a person's acts, and so few.
func (e *exporting) pauses(ctx context.Context) error {
	acts, err := e.store.PauseActs(ctx)
	for _, act := range acts {
		if err == nil && e.asked(act.Scope, act.At) {
			err = e.lines.Encode(console.NewPauseLine(act))
		}
	}
	return err
}

// rotations of seal keys are of no scope.
func (e *exporting) rotations(ctx context.Context) error {
	if len(e.scopes) > 0 {
		return nil
	}
	acts, err := e.store.Rotations(ctx)
	for _, act := range acts {
		if err == nil && !act.At.Before(e.since) {
			err = e.lines.Encode(console.NewRotationLine(act))
		}
	}
	return err
}

// credentials are a few steps for each that there ever was.
func (e *exporting) credentials(ctx context.Context) error {
	events, err := e.store.book.CredentialEvents(ctx, math.MaxInt32)
	slices.Reverse(events)
	for _, event := range events {
		if err == nil && e.asked(event.Scope, event.At) {
			err = e.lines.Encode(console.NewCredentialLine(event))
		}
	}
	return err
}

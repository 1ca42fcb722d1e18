package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Source is what an Auditor reads.
type Source interface {
	dedupe.Trail
	dedupe.Histories
}

// AuditorConfig is what an Auditor is made of. Source and Found must be set.
type AuditorConfig struct {
	Source  Source
	Anchors []Anchor
	Found   func(Finding) // is told everything that is wrong, as soon as it is seen
	Page    int           // receipts that are read at once; 0: 500
}

// Auditor computes the chains of a ledger anew. It reads in pages and locks nothing: a ledger that is in use, of any size,
// may be audited.
type Auditor struct{ config AuditorConfig }

// NewAuditor makes an Auditor.
func NewAuditor(config AuditorConfig) (*Auditor, error) {
	if config.Source == nil || config.Found == nil {
		return nil, errors.New("audit: an auditor needs a source, and somebody to tell")
	}
	if config.Page <= 0 {
		config.Page = 500
	}
	return &Auditor{config: config}, nil
}

// Verify audits scopes; none: all of them, and those that anchors name.
func (a *Auditor) Verify(ctx context.Context, scopes ...delivery.Scope) ([]Summary, error) {
	if len(scopes) == 0 {
		var err error
		if scopes, err = a.config.Source.Scopes(ctx); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		scopes = append(scopes, a.strangers(scopes)...)
		if err = a.strays(ctx); err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
	}
	summaries := make([]Summary, 0, len(scopes))
	for _, scope := range scopes {
		summary, err := a.verify(ctx, scope)
		summaries = append(summaries, summary)
		if err != nil {
			return summaries, fmt.Errorf("audit of %s: %w", scope, err)
		}
	}
	return summaries, nil
}

// strays looks at what the audit of no scope sees.
func (a *Auditor) strays(ctx context.Context) error {
	count, err := a.config.Source.Strays(ctx)
	if count > 0 {
		a.config.Found(Finding{Kind: Stray, Detail: fmt.Sprintf(
			"%d times there are rows whose scope cannot be told: its name, or their receipt, is gone", count)})
	}
	return err
}

// strangers are the scopes of anchors that the ledger does not know.
func (a *Auditor) strangers(known []delivery.Scope) []delivery.Scope {
	seen := make(map[delivery.Scope]bool, len(known))
	for _, scope := range known {
		seen[scope] = true
	}
	var strange []delivery.Scope
	for _, anchor := range a.config.Anchors {
		if !seen[anchor.Scope] {
			seen[anchor.Scope] = true
			strange = append(strange, anchor.Scope)
		}
	}
	return strange
}

// verify looks at the events first and at the checkpoints then.
func (a *Auditor) verify(ctx context.Context, scope delivery.Scope) (Summary, error) {
	v := &visit{source: a.config.Source, page: a.config.Page, summary: Summary{Scope: scope}}
	v.found = func(f Finding) {
		v.summary.Findings++
		a.config.Found(f)
	}
	err := v.events(ctx)
	if err == nil {
		err = newLine(v, a.config.Anchors).read(ctx)
	}
	return v.summary, err
}

// visit is the audit of one scope.
type visit struct {
	source  Source
	page    int
	summary Summary
	found   func(Finding)
}

func (v *visit) events(ctx context.Context) error {
	for after := delivery.EventID(""); ; {
		page, err := v.source.History(ctx, v.summary.Scope, after, v.page)
		if err != nil {
			return err
		}
		for i := range page {
			v.summary.count(page[i].Evidence)
			judge(&page[i], v.found)
			after = page[i].EventID
		}
		if len(page) < v.page {
			return nil
		}
	}
}

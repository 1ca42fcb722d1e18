package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

func (p *program) audit(ctx context.Context, args []string) error {
	word, rest, err := p.oneOf("audit", args, "verify", "export")
	if err != nil {
		return err
	}
	if word == "export" {
		return p.export(ctx, rest)
	}
	return p.verifyEvidence(ctx, rest)
}

// auditing is how an audit was asked for.
type auditing struct {
	scopes  []delivery.Scope // none: all
	anchors []audit.Anchor
	json    bool
}

// verifyEvidence finds out whether evidence was changed. It fails where something is found.
func (p *program) verifyEvidence(ctx context.Context, args []string) error {
	asked, err := p.auditing(args)
	if err != nil {
		return err
	}
	return p.atEvidence(ctx, func(s *store) error {
		if err := asked.known(ctx, s.evidence); err != nil {
			return err
		}
		report := &console.AuditReport{}
		auditor, err := audit.NewAuditor(audit.AuditorConfig{Source: s.evidence, Anchors: asked.anchors, Found: report.Add})
		if err != nil {
			return err
		}
		summaries, err := auditor.Verify(ctx, asked.scopes...)
		if err != nil {
			return err
		}
		report.Conclude(summaries)
		return p.showAudit(report, asked.json)
	})
}

func (p *program) auditing(args []string) (auditing, error) {
	var asked auditing
	flags := p.newFlags("audit verify [SCOPE] [--anchor SCOPE:NUMBER:SUM]… [--anchor-file FILE]… [--json]")
	flags.Func("anchor", "a checkpoint as it was seen before: `SCOPE:NUMBER:SUM`; several are allowed", func(text string) error {
		anchor, err := audit.ParseAnchor(text)
		asked.anchors = append(asked.anchors, anchor)
		return err
	})
	flags.Func("anchor-file", "a log in JSON, an export, or lines of SCOPE:NUMBER:SUM: every checkpoint in the `file` is an anchor", func(name string) error {
		anchors, err := readAnchors(name)
		asked.anchors = append(asked.anchors, anchors...)
		if err == nil && len(anchors) == 0 {
			fmt.Fprintf(p.err, "warning: there is no checkpoint in %s: nothing is compared with it\n", name)
		}
		return err
	})
	flags.BoolVar(&asked.json, "json", false, "as JSON")
	named, err := flags.parse(args, 0, 1)
	if err != nil {
		return asked, err
	}
	asked.scopes, err = scopesNamed(named)
	return asked, err
}

func scopesNamed(named []string) ([]delivery.Scope, error) {
	if len(named) == 0 {
		return nil, nil
	}
	scope, err := delivery.ParseScope(named[0])
	if err != nil {
		return nil, usagef("%v", err)
	}
	return []delivery.Scope{scope}, nil
}

func readAnchors(name string) ([]audit.Anchor, error) {
	file, err := os.Open(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	anchors, err := audit.ReadAnchors(file)
	return anchors, errors.Join(err, file.Close())
}

// known tells a scope that the ledger has nothing of, where no anchor says that it should, from one that is in order.
func (a *auditing) known(ctx context.Context, source audit.Source) error {
	anchored := func(scope delivery.Scope) bool {
		return slices.ContainsFunc(a.anchors, func(anchor audit.Anchor) bool { return anchor.Scope == scope })
	}
	return knows(ctx, source, slices.DeleteFunc(slices.Clone(a.scopes), anchored))
}

// knows expects that the ledger has something of each scope.
func knows(ctx context.Context, source audit.Source, wanted []delivery.Scope) error {
	if len(wanted) == 0 {
		return nil
	}
	scopes, err := source.Scopes(ctx)
	for _, scope := range wanted {
		if err == nil && !slices.Contains(scopes, scope) {
			err = fmt.Errorf("the ledger has nothing of %s", scope)
		}
	}
	return err
}

func (p *program) showAudit(report *console.AuditReport, asJSON bool) error {
	var err error
	if asJSON {
		err = p.json(report)
	} else {
		err = report.Page(p.out)
	}
	if err == nil && !report.OK {
		err = errFailed
	}
	return err
}

// atEvidence opens the ledger for an audit, which needs no key: what is sealed is not evidence.
func (p *program) atEvidence(ctx context.Context, do func(*store) error) error {
	settings, err := p.settings()
	if err != nil {
		return err
	}
	opened, err := openExisting(ctx, settings)
	if err != nil {
		return err
	}
	defer opened.close()
	return do(opened)
}

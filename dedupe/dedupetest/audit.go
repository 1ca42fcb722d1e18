package dedupetest

import (
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Audit is a store's evidence.
type Audit interface {
	dedupe.Checkpoints
	dedupe.Histories
}

// unsealed is longer than a receipt is spared whose evidence nobody seals.
const unsealed = 7 * time.Minute

// RunAudit runs the contract of dedupe.Checkpoints and dedupe.Histories, and what follows from it for an audit.
func RunAudit(t *testing.T, open func(t *testing.T) Harness) {
	for _, part := range []struct {
		name string
		test func(*bench)
	}{
		{"evidence is a chain", auditChain},
		{"a chain goes on behind rows of an older version", auditOlder},
		{"concurrent transitions make one chain", auditChainRace},
		{"rows are sealed once, in order", auditSeal},
		{"a checkpoint's number is given once", auditNumber},
		{"a round of sealing is bounded", auditBatches},
		{"two notaries make one line of checkpoints", auditNotaries},
		{"a notary that was paused seals nothing twice", auditPaused},
		{"a notary that was paused for long does not bring a checkpoint back", auditPausedLong},
		{"what is retired before an audit reads it is no finding", auditOvertaken},
		{"what is retired while an audit reads it is no finding", auditOvertakenEnds},
		{"an audit beside everything else finds nothing", auditLive},
		{"evidence is sealed before it is forgotten", auditForget},
		{"checkpoints that are no longer needed go", auditRetire},
		{"checkpoints of rows that went too early stay", auditRetireTooEarly},
		{"history is read in pages", auditHistory},
		{"anchors are compared", auditAnchors},
		{"whatever happens, nothing is found", auditClean},
		{"whatever is changed is found", auditTampered},
		{"each column is looked at", auditColumns},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(newBench(t, open(t))) })
	}
}

// notary seals at most so many rows at once, and retires without delay.
func (b *bench) notary(batch int) *audit.Notary {
	b.Helper()
	notary, err := audit.NewNotary(audit.NotaryConfig{Store: b.h.Audit, Batch: batch, Retire: time.Nanosecond})
	if err != nil {
		b.Fatal(err)
	}
	return notary
}

// seal seals everything.
func (b *bench) seal(batch int) (made []dedupe.Checkpoint) {
	b.Helper()
	notary := b.notary(batch)
	for more := true; more; {
		sealed, err := notary.Seal(b.ctx)
		if err != nil {
			b.Fatalf("seal: %v", err)
		}
		made, more = append(made, sealed.Made...), sealed.More
	}
	return made
}

// audit says what an audit of a scope finds.
func (b *bench) audit(scope delivery.Scope, anchors ...audit.Anchor) ([]audit.Finding, audit.Summary) {
	b.Helper()
	return b.auditOf(b.h.Audit, scope, anchors...)
}

// auditOf says what an audit finds that reads through a source.
func (b *bench) auditOf(source Audit, scope delivery.Scope, anchors ...audit.Anchor) ([]audit.Finding, audit.Summary) {
	b.Helper()
	var findings []audit.Finding
	auditor, err := audit.NewAuditor(audit.AuditorConfig{
		Source: source, Anchors: anchors, Page: 2, Found: func(f audit.Finding) { findings = append(findings, f) },
	})
	if err != nil {
		b.Fatal(err)
	}
	summaries, err := auditor.Verify(b.ctx, scope)
	if err != nil || len(summaries) != 1 || summaries[0].Findings != int64(len(findings)) {
		b.Fatalf("audit: %+v, %v", summaries, err)
	}
	return findings, summaries[0]
}

// audited expects that an audit finds nothing, where the store has one.
func (b *bench) audited(scope delivery.Scope, anchors ...audit.Anchor) audit.Summary {
	b.Helper()
	if b.h.Audit == nil {
		return audit.Summary{}
	}
	findings, summary := b.audit(scope, anchors...)
	if len(findings) > 0 {
		b.Fatalf("an audit finds %+v", findings)
	}
	return summary
}

// finds expects that an audit finds something of a kind.
func (b *bench) finds(scope delivery.Scope, kind audit.Kind, anchors ...audit.Anchor) audit.Finding {
	b.Helper()
	findings, _ := b.audit(scope, anchors...)
	for _, f := range findings {
		if f.Kind == kind {
			return f
		}
	}
	b.Fatalf("an audit finds %+v, want %s", findings, kind)
	return audit.Finding{}
}

// failed is an event of a scope with one row of evidence.
func (b *bench) failed(scope delivery.Scope, id string) dedupe.Request {
	b.Helper()
	r := event(id)
	r.Scope = scope
	b.settle(b.a, b.fresh(b.a, r, 1), notFinal())
	return r
}

// forgettable ends such an event, so that its time is over at once.
func (b *bench) forgettable(r dedupe.Request) {
	b.Helper()
	s := applied("one")
	s.Expires = time.Microsecond
	b.settle(b.a, b.fresh(b.a, r, 2), s)
}

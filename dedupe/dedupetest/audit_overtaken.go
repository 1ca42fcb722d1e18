package dedupetest

import (
	"context"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// outlive ends an event of checkpoint 1, and seals, forgets and retires all that there is of it: the chain begins at 3 then.
func (b *bench) outlive(r dedupe.Request) {
	b.Helper()
	b.forgettable(r)
	b.seal(10) // 2
	b.sweep()
	b.failed(sealedScope, "b")
	b.seal(10) // 3
	if chain, err := b.h.Audit.Chain(b.ctx, sealedScope, 0, 10); err != nil || len(chain) != 1 || chain[0].Number != 3 {
		b.Fatalf("the chain is %+v, %v", chain, err)
	}
}

// auditOvertaken retires what an audit knows of and has not read yet.
func auditOvertaken(b *bench) {
	r, one := b.sealedOnce()
	source := &overtaking{Audit: b.h.Audit, chain: func() { b.outlive(r) }}
	findings, s := b.auditOf(source, sealedScope, one)
	if len(findings) > 0 || s.Checkpoints != 1 || s.BeginsAt != 3 || s.EndsAt != 3 || s.Retired != 1 {
		b.Errorf("an audit finds %+v, sees %+v", findings, s)
	}
}

// auditOvertakenEnds retires a checkpoint that an audit has read, and the one that has the end of its event.
func auditOvertakenEnds(b *bench) {
	r, one := b.sealedOnce()
	source := &overtaking{Audit: b.h.Audit, marked: func() { b.outlive(r) }}
	findings, s := b.auditOf(source, sealedScope, one)
	if len(findings) > 0 || s.Checkpoints != 1 || s.BeginsAt != 1 || s.Anchored != 1 || s.Forgotten != 1 {
		b.Errorf("an audit finds %+v, sees %+v", findings, s)
	}
}

// sealedOnce is an event with a row of evidence, and the anchor of the checkpoint that has sealed it.
func (b *bench) sealedOnce() (dedupe.Request, audit.Anchor) {
	b.Helper()
	r := b.failed(sealedScope, "a")
	c := b.seal(10)[0]
	return r, audit.Anchor{Scope: c.Scope, Number: c.Number, Sum: c.Sum}
}

// overtaking is a store in which something happens once before the chain is read, or the rows of a checkpoint are.
type overtaking struct {
	Audit
	chain, marked func()
}

func once(do *func()) {
	if first := *do; first != nil {
		*do = nil
		first()
	}
}

// Chain implements dedupe.Trail.
func (o *overtaking) Chain(ctx context.Context, scope delivery.Scope, from int64, limit int) ([]dedupe.Checkpoint, error) {
	once(&o.chain)
	return o.Audit.Chain(ctx, scope, from, limit)
}

// Marked implements dedupe.Trail.
func (o *overtaking) Marked(ctx context.Context, scope delivery.Scope, number, after int64, limit int) (dedupe.Sealables, error) {
	if number > 0 {
		once(&o.marked)
	}
	return o.Audit.Marked(ctx, scope, number, after, limit)
}

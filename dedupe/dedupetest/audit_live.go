package dedupetest

import (
	"context"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// auditLive audits a ledger in which everything goes on: events fail, end and are forgotten, two replicas seal and sweep.
func auditLive(b *bench) {
	const scope = delivery.Scope("acme/live")
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	var beside sync.WaitGroup
	again := func(do func() error) {
		beside.Go(func() {
			for ctx.Err() == nil {
				if err := do(); err != nil && ctx.Err() == nil {
					b.Errorf("beside the audit: %v", err)
					return
				}
			}
		})
	}
	for _, by := range []replica{b.a, b.b} {
		notary := b.notary(5)
		again(func() error { _, err := notary.Seal(ctx); return err })
		again(func() error { _, err := by.Sweep(ctx); return err })
	}
	const writers = 4
	var written [writers]int
	for w := range writers {
		again(func() error {
			written[w]++
			return b.shortLife(ctx, []replica{b.a, b.b}[w%2], scope, name("evt_", w, "_", written[w]%5), written[w])
		})
	}
	for range manyRounds(12) {
		findings, _ := b.audit(scope)
		if len(findings) > 0 {
			b.Errorf("an audit beside the work finds %+v", findings)
			break
		}
	}
	stop()
	beside.Wait()
	b.seal(100)
	b.sweep()
	if s := b.audited(scope); s.EndsAt < 2 {
		b.Errorf("an audit sees %+v", s)
	}
}

// shortLife lets an event fail and then, most of the time, end and be forgotten at once.
func (b *bench) shortLife(ctx context.Context, by replica, scope delivery.Scope, id string, n int) error {
	r := event(id)
	r.Scope = scope
	for _, s := range []dedupe.Settlement{notFinal(), applied("one")} {
		decision, err := by.Claim(ctx, r)
		if err != nil || decision.Kind != dedupe.Fresh {
			return err
		}
		if s.To == dedupe.Applied && n%4 > 0 {
			s.Expires = time.Microsecond
		}
		if err := by.Settle(ctx, decision.Claim, s); err != nil {
			return err
		}
	}
	return nil
}

// sealedMeanwhile lets a notary stop before it seals. What others do then leaves it nothing to seal.
func (b *bench) sealedMeanwhile(others func()) {
	b.Helper()
	notary, err := audit.NewNotary(audit.NotaryConfig{Store: &pausedSealer{Audit: b.h.Audit, first: others}})
	if err != nil {
		b.Fatal(err)
	}
	sealed, err := notary.Seal(b.ctx)
	if err != nil || len(sealed.Made) != 0 || !sealed.Other {
		b.Fatalf("sealed %+v, %v", sealed, err)
	}
}

// auditPaused lets a notary stop before it seals, until another one has sealed everything and more has come.
func auditPaused(b *bench) {
	b.failed(sealedScope, "a")
	b.sealedMeanwhile(func() {
		b.seal(10)
		b.failed(sealedScope, "b")
		b.seal(10)
	})
	if s := b.audited(sealedScope); s.Sealed != 2 || s.Checkpoints != 2 {
		b.Errorf("an audit sees %+v", s)
	}
}

// auditPausedLong lets a notary stop before it seals, until the number that it would give was given and retired.
func auditPausedLong(b *bench) {
	r := b.failed(sealedScope, "a")
	b.sealedMeanwhile(func() {
		b.seal(10) // 1
		b.outlive(r)
		b.failed(sealedScope, "c")
	})
	if s := b.audited(sealedScope); s.BeginsAt != 3 || s.Checkpoints != 1 || s.Unsealed != 1 {
		b.Errorf("an audit sees %+v", s)
	}
}

type pausedSealer struct {
	Audit
	first func()
}

func (p *pausedSealer) Seal(ctx context.Context, c dedupe.Checkpoint, rows []int64) (bool, error) {
	p.first()
	return p.Audit.Seal(ctx, c, rows)
}

package dedupetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// testFaults lets every kind of write fail in every way, once or twice: the caller must not notice, and nothing happens
// twice.
func testFaults(b *bench) {
	store := &faulty{Backend: b.h.Store}
	shaky := b.replica("shaky", store, false)
	plan := func(inserts, moves []fault) {
		store.set(func() { store.inserts, store.moves = inserts, moves })
	}
	for how, faults := range faults {
		r := event("settled_" + strings.ReplaceAll(how, " ", "_"))
		plan(faults, nil)
		c := b.fresh(shaky, r, 1)
		b.expect(b.b, r, dedupe.InFlight)
		plan(nil, faults)
		b.settle(shaky, c, applied(how))
		b.evidenced(r, 0)

		plan(nil, faults)
		b.act(shaky.Reopen(b.ctx, r.Scope, r.EventID, operator))
		b.evidenced(r, 1)
		plan(nil, faults)
		c = b.fresh(shaky, r, 2)
		plan(nil, faults)
		b.settle(shaky, c, notFinal())
		b.evidenced(r, 2)
		b.fresh(shaky, r, 3)
		b.expire(r)
		plan(nil, faults)
		c = b.fresh(shaky, r, 4)
		b.evidenced(r, 3)
		plan(nil, faults)
		b.settle(shaky, c, dead(job("kept")))
		plan(nil, faults)
		b.act(shaky.Close(b.ctx, r.Scope, r.EventID, 200, operator))
		b.evidenced(r, 5)

		plan(faults, nil)
		r = accepted("accepted_"+strings.ReplaceAll(how, " ", "_"), "a")
		if got := b.expect(shaky, r, dedupe.AlreadyQueued); !got.First {
			b.Errorf("%s: not acknowledged as stored: %+v", how, got)
		}
	}
	for how, faults := range faults {
		plan(nil, nil)
		r := event("swept_" + strings.ReplaceAll(how, " ", "_"))
		b.fresh(shaky, r, 1)
		b.expire(r)
		plan(nil, faults)
		for range len(faults) + 1 {
			_, _ = shaky.Sweep(b.ctx) // the next sweep finds what this one left
		}
		b.state(r, dedupe.Retryable, dedupe.LeaseExpired)
		b.evidenced(r, 1)
	}
}

func (b *bench) evidenced(r dedupe.Request, want int) {
	b.Helper()
	if got := b.receipt(r).Evidence; len(got) != want {
		b.Errorf("%s: %d transitions are evidenced, want %d: %+v", r.EventID, len(got), want, got)
	}
}

func testLastingFault(b *bench) {
	store := &faulty{Backend: b.h.Store}
	shaky := b.replica("shaky", store, false)
	breakDown := func(how fault) { store.set(func() { store.forEver = how }) }
	for id, how := range map[string]fault{"lost": notApplied, "kept": butApplied} {
		r := event(id)
		breakDown(how)
		if decision, err := shaky.Claim(b.ctx, r); !errors.Is(err, errLost) {
			b.Errorf("%s: %+v, %v", id, decision, err)
		}
		breakDown(0)
		attempt := 1
		if how == butApplied {
			b.expect(b.b, r, dedupe.InFlight)
			b.expire(r)
			attempt = 2
		}
		c := b.fresh(shaky, r, attempt)
		breakDown(how)
		b.neverSettles(shaky, c)
		breakDown(0)
		b.settle(shaky, c, applied("one"))
		b.expect(b.b, r, dedupe.Replay)
	}
}

// neverSettles tries until its time is over.
func (b *bench) neverSettles(by replica, c dedupe.Claim) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 100*time.Millisecond)
	defer cancel()
	err := by.Settle(ctx, c, applied("one"))
	if err == nil || errors.Is(err, dedupe.ErrClaimLost) || ctx.Err() == nil {
		b.Errorf("settle: %v", err)
	}
}

func testGuilty(b *bench) {
	store := &faulty{Backend: b.h.Store, guilty: map[dedupe.Key]error{keyOf(event("guilty")): dedupe.ErrRow}}
	shaky := b.replica("shaky", store, false)
	for round := range manyRounds(20) {
		var running sync.WaitGroup
		for i := range 20 {
			r := event(name("innocent_", round, "_", i))
			running.Go(func() {
				decision, err := shaky.Claim(b.ctx, r)
				if err == nil {
					err = shaky.Settle(b.ctx, decision.Claim, applied("one"))
				}
				if err != nil || decision.Kind != dedupe.Fresh {
					b.Errorf("%s: %+v, %v", r.EventID, decision, err)
				}
			})
		}
		running.Go(func() {
			if decision, err := shaky.Claim(b.ctx, event("guilty")); !errors.Is(err, dedupe.ErrRow) {
				b.Errorf("the guilty one: %+v, %v", decision, err)
			}
		})
		running.Wait()
	}
	store.set(func() { store.guilty = nil })
	b.fresh(shaky, event("guilty"), 1)
}

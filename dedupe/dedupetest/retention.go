package dedupetest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func testRetention(b *bench) {
	span := policy().Retention.Receipt
	for i, s := range situations() {
		r := event(name("evt_", i))
		s.enter(b, r)
		b.age(r, span-time.Minute)
		if swept := b.sweep(); swept.Forgotten != 0 {
			b.Errorf("%s: swept %+v too early", s.name, swept)
		}
		if s.state == dedupe.Applied || s.state == dedupe.Closed {
			b.expect(b.b, r, s.kind) // and does not renew
		}
		b.age(r, unsealed)
		b.sweep()
		b.forgotten(r, s)
	}
	b.keptRequests(policy().Retention.DeadLetter)
}

// forgotten expects that a finished event begins anew, and that no other is forgotten.
func (b *bench) forgotten(r dedupe.Request, s situation) {
	b.Helper()
	finished := s.state == dedupe.Applied || s.state == dedupe.Retryable || s.state == dedupe.Closed
	_, err := b.a.Receipt(b.ctx, r.Scope, r.EventID)
	if gone := errors.Is(err, dedupe.ErrNotFound); gone != finished {
		b.Errorf("%s: forgotten %v (%v)", s.name, gone, err)
		return
	}
	if !finished {
		return
	}
	b.fresh(b.a, r, 1)
	if evidence := b.receipt(r).Evidence; len(evidence) != 0 {
		b.Errorf("%s: evidence outlived its receipt: %+v", s.name, evidence)
	}
}

// keptRequests: those of dead events have a time of their own, those of queued ones have none.
func (b *bench) keptRequests(span time.Duration) {
	b.Helper()
	gone, waits := event("dead"), event("queued")
	b.settle(b.a, b.fresh(b.a, gone, 1), dead(job("d")))
	b.settle(b.a, b.fresh(b.a, waits, 1), queued(job("q")))
	b.age(gone, span-time.Minute)
	b.age(waits, 10*span)
	if swept := b.sweep(); swept.Jobs != 0 {
		b.Errorf("swept %+v", swept)
	}
	b.age(gone, 2*time.Minute)
	if swept := b.sweep(); swept.Jobs != 1 || swept.Forgotten != 0 {
		b.Errorf("swept %+v", swept)
	}
	if got := b.state(gone, dedupe.Dead, dedupe.Quarantined); got.HasJob {
		b.Error("the request of a dead event outlived its time")
	}
	if got := b.state(waits, dedupe.Queued, dedupe.NotFinal); !got.HasJob {
		b.Error("a queued event lost its request")
	}
}

func testSweepBatches(b *bench) {
	const rows = 120 // of batches of 50
	for i := range rows {
		r := event(name("evt_", i))
		b.fresh(b.a, r, 1)
		b.expire(r)
	}
	var expired, rounds int
	for more := true; more; rounds++ {
		swept := b.sweep()
		if swept.Expired > 50 {
			b.Fatalf("swept %d at once", swept.Expired)
		}
		expired, more = expired+swept.Expired, swept.More
	}
	if expired != rows || rounds != 3 {
		b.Errorf("swept %d rows in %d rounds", expired, rounds)
	}
	list, err := b.a.List(b.ctx, dedupe.Filter{States: []dedupe.State{dedupe.Retryable}, Limit: 2 * rows})
	if err != nil || len(list) != rows {
		b.Errorf("%d are retryable, %v", len(list), err)
	}
}

// testForgetBatches: what is forgotten is counted, and More is set as long as a batch was full.
func testForgetBatches(b *bench) {
	const rows = 120 // of batches of 50
	for i := range rows {
		r := event(name("evt_", i))
		b.settle(b.a, b.fresh(b.a, r, 1), applied("done"))
		b.age(r, policy().Retention.Receipt+time.Minute)
	}
	b.fresh(b.a, event("young"), 1)
	var forgotten, rounds int
	for more := true; more; rounds++ {
		swept := b.sweep()
		if swept.Forgotten > 50 || swept.Expired+swept.Jobs > 0 {
			b.Fatalf("swept %+v", swept)
		}
		forgotten, more = forgotten+swept.Forgotten, swept.More
	}
	if forgotten != rows || rounds != 3 {
		b.Errorf("forgot %d receipts in %d rounds", forgotten, rounds)
	}
	if list, err := b.a.List(b.ctx, dedupe.Filter{Limit: 2 * rows}); err != nil || len(list) != 1 {
		b.Errorf("%d are left, %v", len(list), err)
	}
}

// sweepable makes as many receipts over_… that may be forgotten as claims expired_… whose lease has ended.
func (b *bench) sweepable(rows int) {
	for i := range rows {
		over, expired := event(name("over_", i)), event(name("expired_", i))
		b.settle(b.a, b.fresh(b.a, over, 1), applied("done"))
		b.age(over, policy().Retention.Receipt+time.Minute)
		b.fresh(b.a, expired, 1)
		b.expire(expired)
	}
}

// testSweepDespite: neither other claims nor forgetting wait for a row that cannot be moved.
func testSweepDespite(b *bench) {
	const rows = 70 // of batches of 50
	guilty := event("guilty")
	store := &faulty{Backend: b.h.Store, guilty: map[dedupe.Key]error{keyOf(guilty): dedupe.ErrBatch}}
	b.sweepable(rows)
	b.fresh(b.a, guilty, 1)
	b.age(guilty, time.Hour) // the first that a sweep finds
	shaky := b.replica("shaky", store, false)
	var sum dedupe.Swept
	for range 2 {
		swept, err := shaky.Sweep(b.ctx)
		if !errors.Is(err, dedupe.ErrBatch) {
			b.Errorf("swept %+v, %v", swept, err)
		}
		sum.Expired, sum.Forgotten = sum.Expired+swept.Expired, sum.Forgotten+swept.Forgotten
	}
	if sum.Expired != rows || sum.Forgotten != rows {
		b.Errorf("swept %+v, want %d of each", sum, rows)
	}
	b.state(guilty, dedupe.Claimed, dedupe.NoReason)
	store.set(func() { store.guilty = nil })
	if swept, err := shaky.Sweep(b.ctx); err != nil || swept.Expired != 1 {
		b.Errorf("swept %+v, %v", swept, err)
	}
}

// testSweepRace: two sweepers on one ledger settle each expired claim once and forget each receipt once, and both end.
func testSweepRace(b *bench) {
	const rows = 70 // of batches of 50
	b.sweepable(rows)
	var mu sync.Mutex
	var sum dedupe.Swept
	var group sync.WaitGroup
	for _, sweeper := range []replica{b.a, b.b} {
		group.Go(func() {
			for idle := false; !idle; {
				swept, err := sweeper.Sweep(b.ctx)
				if err != nil {
					b.Errorf("sweep: %v", err)
				}
				mu.Lock()
				sum.Forgotten, sum.Expired = sum.Forgotten+swept.Forgotten, sum.Expired+swept.Expired
				mu.Unlock()
				idle = !swept.More && swept.Forgotten+swept.Expired == 0
			}
		})
	}
	group.Wait()
	if sum.Forgotten != rows || sum.Expired != rows {
		b.Errorf("swept %+v, want %d of each", sum, rows)
	}
	for i := range rows {
		if evidence := b.state(event(name("expired_", i)), dedupe.Retryable, dedupe.LeaseExpired).Evidence; len(evidence) != 1 {
			b.Errorf("an expiry is told %d times", len(evidence))
		}
	}
}

// testForgetOrRun: an event whose time is over and that is delivered again at this moment either begins anew or runs
// again; it never vanishes while it is claimed.
func testForgetOrRun(b *bench) {
	for i := range manyRounds(30) {
		r := event(name("evt_", i))
		b.settle(b.a, b.fresh(b.a, r, 1), notFinal())
		b.age(r, policy().Retention.Receipt+time.Minute)
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := b.b.Sweep(b.ctx); err != nil {
				b.Errorf("sweep: %v", err)
			}
		})
		decision := b.expect(b.a, r, dedupe.Fresh)
		group.Wait()
		b.settle(b.a, decision.Claim, applied("done"))
		receipt := b.state(r, dedupe.Applied, "")
		first := slices.ContainsFunc(receipt.Evidence, func(e dedupe.Evidence) bool { return e.To == dedupe.Retryable })
		if first != (decision.Attempt == 2) || receipt.Attempts != decision.Attempt {
			b.Errorf("attempt %d has the evidence %+v", decision.Attempt, receipt.Evidence)
		}
	}
}

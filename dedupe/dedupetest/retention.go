package dedupetest

import (
	"errors"
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
		b.age(r, 2*time.Minute)
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

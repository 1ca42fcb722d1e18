package dedupetest

import (
	"errors"
	"reflect"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func testTakeover(b *bench) {
	r := event("evt_1")
	first := b.fresh(b.a, r, 1)
	b.expire(r)
	second := b.fresh(b.b, r, 2)
	if second.Trace != r.Trace || second.Age < lease {
		b.Errorf("claim is %+v", second)
	}
	b.expect(b.a, r, dedupe.InFlight)
	b.lost(b.a, first, applied("late"))
	b.lost(b.a, first, notFinal())
	b.expect(b.a, r, dedupe.InFlight)
	b.settle(b.b, second, applied("second"))
	b.lost(b.a, first, applied("late"))
	if got := b.expect(b.a, r, dedupe.Replay); string(got.Response.Body) != "second" {
		b.Errorf("replayed %q", got.Response.Body)
	}
	if got := b.receipt(r).Evidence[0]; got.Reason != dedupe.LeaseExpired || got.Attempt != 1 || got.Actor != "b" {
		b.Errorf("evidence is %+v", got)
	}
}

func testTakeoverRace(b *bench) {
	for round := range manyRounds(50) {
		r := event(name("evt_", round))
		if round%2 == 0 {
			b.fresh(b.a, r, 1)
			b.expire(r)
		} else {
			b.settle(b.a, b.fresh(b.a, r, 1), notFinal())
		}
		requests := make([]dedupe.Request, 20)
		for i := range requests {
			requests[i] = r
		}
		if winner := b.onlyOneFresh(requests, dedupe.InFlight); winner.Attempt != 2 {
			b.Fatalf("attempt %d", winner.Attempt)
		}
	}
}

func testLateButOwn(b *bench) {
	r := event("evt_1")
	c := b.fresh(b.a, r, 1)
	b.expire(r)
	b.settle(b.a, c, applied("late"))
	b.expect(b.b, r, dedupe.Replay)
	if swept := b.sweep(); swept.Expired != 0 {
		b.Errorf("swept %+v", swept)
	}
}

func testSweepExpired(b *bench) {
	gone, running := event("gone"), event("running")
	lost := b.fresh(b.a, gone, 1)
	b.fresh(b.a, running, 1)
	b.expire(gone)
	if swept := b.sweep(); swept.Expired != 1 || swept.More {
		b.Errorf("swept %+v", swept)
	}
	got := b.state(gone, dedupe.Retryable, dedupe.LeaseExpired)
	if len(got.Evidence) != 1 || got.Evidence[0].Reason != dedupe.LeaseExpired || got.Evidence[0].To != dedupe.Retryable {
		b.Errorf("evidence is %+v", got.Evidence)
	}
	if got.Expires.Sub(got.Changed) != policy().Retention.Receipt {
		b.Errorf("retryable until %v, changed %v", got.Expires, got.Changed)
	}
	b.state(running, dedupe.Claimed, dedupe.NoReason)
	b.lost(b.a, lost, applied("late"))
	b.lost(b.a, lost, notFinal())
	b.state(gone, dedupe.Retryable, dedupe.LeaseExpired)
	if swept := b.sweep(); swept.Expired != 0 {
		b.Errorf("swept again %+v", swept)
	}
	b.fresh(b.b, gone, 2)
}

func testGrace(b *bench) {
	r := event("evt_1")
	c := b.fresh(b.a, r, 1)
	b.age(r, lease+grace/2)
	if swept := b.sweep(); swept.Expired != 0 {
		b.Errorf("swept %+v", swept)
	}
	b.settle(b.a, c, applied("one"))
}

func testQuarantine(b *bench) {
	b.policy.InDoubt = dedupe.Quarantine
	for i, end := range []struct {
		settle func(dedupe.Request)
		kept   bool
	}{
		{func(dedupe.Request) { b.sweep() }, false},
		{func(r dedupe.Request) { b.expect(b.b, r, dedupe.DeadLetter) }, true},
		{func(r dedupe.Request) { r.Job = nil; b.expect(b.b, r, dedupe.DeadLetter) }, false},
	} {
		r := event(name("evt_", i))
		r.Policy.InDoubt = dedupe.Quarantine
		c := b.fresh(b.a, r, 1)
		b.expire(r)
		end.settle(r)
		got := b.dead(r, dedupe.Quarantined, end.kept)
		if !got.Expires.IsZero() || len(got.Evidence) != 1 || got.Evidence[0].To != dedupe.Dead {
			b.Errorf("receipt is %+v", got)
		}
		b.lost(b.a, c, applied("late"))
	}
}

// dead expects an event to have died with its request, or without, and that every further delivery is told so.
func (b *bench) dead(r dedupe.Request, reason dedupe.Reason, kept bool) dedupe.Receipt {
	b.Helper()
	got := b.state(r, dedupe.Dead, reason)
	if decision := b.expect(b.a, r, dedupe.DeadLetter); got.HasJob != kept || decision.Kept != kept {
		b.Errorf("%s: request kept %t, deliveries are told %t, want %t", r.EventID, got.HasJob, decision.Kept, kept)
	}
	job, err := b.h.Store.Job(b.ctx, keyOf(r))
	switch {
	case kept && (err != nil || !reflect.DeepEqual(job, r.Job())):
		b.Errorf("%s: the request is %+v, %v", r.EventID, job, err)
	case !kept && !errors.Is(err, dedupe.ErrNotFound):
		b.Errorf("%s: a request that was not at hand: %+v, %v", r.EventID, job, err)
	}
	return got
}

func testMaxAttempts(b *bench) {
	b.policy.Limit.MaxAttempts = 2
	for i, end := range []struct {
		settle func(dedupe.Request, dedupe.Claim)
		kept   bool
	}{
		{func(r dedupe.Request, _ dedupe.Claim) { b.expire(r); b.expect(b.b, r, dedupe.DeadLetter) }, true},
		{func(r dedupe.Request, _ dedupe.Claim) { b.expire(r); b.sweep() }, false},
		{func(r dedupe.Request, c dedupe.Claim) {
			b.settle(b.a, c, r.Policy.Settle(c, answer(500, ""), 0, r.Job))
		}, true},
		{func(r dedupe.Request, c dedupe.Claim) { b.settle(b.a, c, r.Policy.Settle(c, answer(500, ""), 0, nil)) }, false},
	} {
		r := event(name("evt_", i))
		r.Policy.Limit.MaxAttempts = 2
		b.settle(b.a, b.fresh(b.a, r, 1), notFinal())
		end.settle(r, b.fresh(b.b, r, 2))
		b.dead(r, dedupe.MaxAttempts, end.kept)
	}
	lowered := event("lowered")
	b.settle(b.a, b.fresh(b.a, lowered, 1), notFinal())
	lowered.Policy.Limit.MaxAttempts = 1
	if got := b.expect(b.b, lowered, dedupe.DeadLetter); got.Reason != dedupe.MaxAttempts || got.LastStatus != 503 || !got.Kept {
		b.Errorf("decision is %+v", got)
	}
	b.dead(lowered, dedupe.MaxAttempts, true)
}

func testMaxAge(b *bench) {
	limited := func(id string) dedupe.Request {
		r := event(id)
		r.Policy.Limit.MaxAge = time.Hour
		return r
	}
	crashed := limited("crashed")
	b.fresh(b.a, crashed, 1)
	b.age(crashed, 2*time.Hour)
	b.expect(b.b, crashed, dedupe.DeadLetter)
	b.dead(crashed, dedupe.MaxAge, true)

	failed := limited("failed")
	b.settle(b.a, b.fresh(b.a, failed, 1), notFinal())
	b.age(failed, 59*time.Minute)
	c := b.fresh(b.b, failed, 2)
	b.settle(b.b, c, failed.Policy.Settle(c, answer(500, ""), time.Minute, nil))
	if got := b.state(failed, dedupe.Dead, dedupe.MaxAge); got.Status != 500 {
		b.Errorf("status %d", got.Status)
	}

	waited := limited("waited")
	b.settle(b.a, b.fresh(b.a, waited, 1), notSent())
	b.age(waited, 2*time.Hour)
	b.expect(b.b, waited, dedupe.DeadLetter)
	b.dead(waited, dedupe.MaxAge, true)
}

func testNotSent(b *bench) {
	r := event("evt_1")
	r.Policy.Limit.MaxAttempts = 1
	for range 5 {
		b.settle(b.a, b.fresh(b.a, r, 1), notSent())
		if got := b.state(r, dedupe.Retryable, dedupe.Unreachable); got.Attempts != 0 {
			b.Fatalf("%d attempts", got.Attempts)
		}
	}
	c := b.fresh(b.a, r, 1)
	b.settle(b.a, c, r.Policy.Settle(c, answer(500, ""), 0, nil))
	b.state(r, dedupe.Dead, dedupe.MaxAttempts)
}

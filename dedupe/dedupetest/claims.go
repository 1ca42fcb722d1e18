package dedupetest

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func testFirst(b *bench) {
	r := event("evt_1")
	c := b.fresh(b.a, r, 1)
	if c.Scope != r.Scope || c.EventID != r.EventID || c.Age != 0 {
		b.Fatalf("claim is %+v", c)
	}
	got := b.state(r, dedupe.Claimed, dedupe.NoReason)
	if got.CredentialID != r.CredentialID || got.EventType != r.EventType || got.Object != r.Object || got.Trace != r.Trace ||
		got.Fingerprint != r.Fingerprint || got.Bound || got.Attempts != 1 {
		b.Fatalf("receipt is %+v", got)
	}
	if left := got.LeaseUntil.Sub(got.Created); left != lease {
		b.Fatalf("the lease is %v", left)
	}
	if got.Reference != delivery.Reference(r.Scope, r.EventID) {
		b.Fatalf("reference is %q", got.Reference)
	}
}

func testDuplicates(b *bench) {
	for i, s := range situations() {
		r := event(name("evt_", i))
		s.enter(b, r)
		decision := b.expect(b.b, r, s.kind)
		switch s.kind {
		case dedupe.InFlight:
			if decision.LeaseLeft <= 0 || decision.LeaseLeft > lease {
				b.Errorf("%s: lease left %v", s.name, decision.LeaseLeft)
			}
		case dedupe.Replay:
			if !reflect.DeepEqual(decision.Response, applied("one").Response) {
				b.Errorf("%s: response %+v", s.name, decision.Response)
			}
			if decision.Left <= 0 || decision.Left > r.Policy.Retention.Receipt {
				b.Errorf("%s: kept for another %v", s.name, decision.Left)
			}
		case dedupe.Ended:
			if decision.LastStatus != 202 {
				b.Errorf("%s: status %d", s.name, decision.LastStatus)
			}
		case dedupe.Fresh:
			if decision.Attempt != 2 || decision.Trace != r.Trace || decision.Claim.Trace != r.Trace {
				b.Errorf("%s: %+v", s.name, decision)
			}
		}
		if s.kind != dedupe.Fresh && decision.State != s.state {
			b.Errorf("%s: state %s", s.name, decision.State)
		}
	}
}

func testConflicts(b *bench) {
	for i, s := range situations() {
		r := event(name("evt_", i))
		s.enter(b, r)
		before := b.receipt(r)
		other := r
		other.Fingerprint[31]++
		for _, by := range []replica{b.a, b.b} {
			decision := b.expect(by, other, dedupe.Conflict)
			if decision.State != s.state || (decision.Response != nil) != (s.state == dedupe.Applied) {
				b.Errorf("%s: %+v", s.name, decision)
			}
		}
		if after := b.receipt(r); !reflect.DeepEqual(before, after) {
			b.Errorf("%s: the conflict changed %+v to %+v", s.name, before, after)
		}
		b.expect(b.b, r, s.kind)
	}
}

func testLookAlikes(b *bench) {
	long := strings.Repeat("x", 254)
	for _, key := range []dedupe.Key{
		{Scope: "a/b", EventID: "c"}, {Scope: "a/b", EventID: "/c"}, {Scope: "a/b", EventID: "C"},
		{Scope: "a/b", EventID: "a:b"}, {Scope: "a/b", EventID: "a"}, {Scope: "a/b", EventID: "b:c"},
		{Scope: "a/b.", EventID: "c"}, {Scope: "A/b", EventID: "c"}, {Scope: "a/bc", EventID: "c"},
		{Scope: "a/b", EventID: "1"}, {Scope: "a/b", EventID: "1.0"}, {Scope: "a/b", EventID: "01"},
		{Scope: "a/b", EventID: "%"}, {Scope: "a/b", EventID: "_"}, {Scope: "a/b", EventID: "'"}, {Scope: "a/b", EventID: `\`},
		{Scope: "a/b", EventID: "ss"}, {Scope: "a/b", EventID: "NULL"}, {Scope: "a/b", EventID: `{"a"}`},
		{Scope: "a/b", EventID: delivery.EventID(long + "x")}, {Scope: "a/b", EventID: delivery.EventID(long + "y")},
		{Scope: "a/b", EventID: delivery.EventID(long)},
	} {
		r := event(string(key.EventID))
		r.Scope = key.Scope
		c := b.fresh(b.a, r, 1)
		if c.Scope != key.Scope || c.EventID != key.EventID {
			b.Errorf("claimed %q %q for %q %q", c.Scope, c.EventID, key.Scope, key.EventID)
		}
		b.expect(b.b, r, dedupe.InFlight)
	}
}

func testBinding(b *bench) {
	for i, s := range situations() {
		r, other := bound(name("first_", i), name("content ", i)), bound(name("second_", i), name("content ", i))
		s.enter(b, r)
		want := s.kind
		if want == dedupe.Replay {
			want = dedupe.SuspectReplay
		}
		decision := b.expect(b.b, other, want)
		if want == dedupe.Fresh && decision.Claim.EventID != r.EventID {
			b.Errorf("%s: runs as %q", s.name, decision.Claim.EventID)
		}
		if want == dedupe.SuspectReplay && !reflect.DeepEqual(decision.Response, applied("one").Response) {
			b.Errorf("%s: response %+v", s.name, decision.Response)
		}
		if _, err := b.a.Receipt(b.ctx, other.Scope, other.EventID); err != dedupe.ErrNotFound {
			b.Errorf("%s: a second receipt: %v", s.name, err)
		}
		elsewhere := other
		elsewhere.Scope = "acme/elsewhere"
		b.fresh(b.b, elsewhere, 1)
	}
	if !b.receipt(bound("first_0", "content 0")).Bound {
		b.Error("the receipt does not say that its ID is bound")
	}
	b.fresh(b.a, event("unbound_1"), 1)
	b.fresh(b.a, event("unbound_2"), 1)
}

func testBindingConflict(b *bench) {
	r := bound("first", "content")
	b.settle(b.a, b.fresh(b.a, r, 1), notFinal())
	other := bound("second", "content")
	other.Fingerprint[0]++
	b.expect(b.b, other, dedupe.Conflict)
	b.settle(b.a, b.fresh(b.a, r, 2), applied("one"))
	b.expect(b.b, other, dedupe.SuspectReplay)
}

func testBindingRace(b *bench) {
	for round := range manyRounds(50) {
		requests := make([]dedupe.Request, 20)
		for i := range requests {
			requests[i] = bound(name("evt_", round, "_", i), name("content ", round))
		}
		b.onlyOneFresh(requests, dedupe.InFlight)
	}
}

func testRace(b *bench) {
	for round := range manyRounds(100) {
		requests := make([]dedupe.Request, 20)
		for i := range requests {
			requests[i] = event(name("evt_", round))
		}
		winner := b.onlyOneFresh(requests, dedupe.InFlight)
		b.settle(b.b, winner, applied(name("result ", round)))
		for _, by := range []replica{b.a, b.b} {
			if got := b.expect(by, requests[0], dedupe.Replay); string(got.Response.Body) != name("result ", round) {
				b.Fatalf("replayed %q", got.Response.Body)
			}
		}
	}
}

// onlyOneFresh claims at one instant through both replicas.
func (b *bench) onlyOneFresh(requests []dedupe.Request, others dedupe.Kind) dedupe.Claim {
	b.Helper()
	var fresh []dedupe.Claim
	for _, decision := range b.atOnce(requests) {
		switch decision.Kind {
		case dedupe.Fresh:
			fresh = append(fresh, decision.Claim)
		case others:
		default:
			b.Fatalf("kind %d", decision.Kind)
		}
	}
	if len(fresh) != 1 {
		b.Fatalf("%d deliveries of %s run", len(fresh), requests[0].EventID)
	}
	return fresh[0]
}

func (b *bench) atOnce(requests []dedupe.Request) []dedupe.Decision {
	b.Helper()
	decisions, errs := make([]dedupe.Decision, len(requests)), make([]error, len(requests))
	ctx, cancel := context.WithTimeout(b.ctx, patient)
	defer cancel()
	start := make(chan struct{})
	var running sync.WaitGroup
	for i, r := range requests {
		by := []replica{b.a, b.b}[i%2]
		running.Go(func() {
			<-start
			decisions[i], errs[i] = by.Claim(ctx, r)
		})
	}
	close(start)
	running.Wait()
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
	return decisions
}

func testNoLease(b *bench) {
	r := event("evt_1")
	r.Policy.Lease = 0
	if decision, err := b.a.Claim(b.ctx, r); err == nil {
		b.Fatalf("claimed %+v", decision)
	}
	r.Policy.Lease = lease
	b.fresh(b.a, r, 1)
}

func testCancelled(b *bench) {
	cancelled, cancel := context.WithCancel(b.ctx)
	cancel()
	if decision, err := b.a.Claim(cancelled, event("evt_1")); err == nil {
		b.Fatalf("claimed %+v", decision)
	}
	b.fresh(b.a, event("evt_1"), 1)
	c := b.fresh(b.a, event("evt_2"), 1)
	if err := b.a.Settle(cancelled, c, applied("one")); err == nil {
		b.Fatal("settled")
	}
	b.settle(b.a, c, applied("one"))
	b.expect(b.a, event("evt_2"), dedupe.Replay)
}

package dedupetest

import (
	"errors"
	"reflect"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func testLook(b *bench) {
	if _, err := b.a.Look(b.ctx, event("nobody")); !errors.Is(err, dedupe.ErrNotFound) {
		b.Errorf("looking at nothing: %v", err)
	}
	for i, s := range situations() {
		r := event(name("evt_", i))
		s.enter(b, r)
		before := b.receipt(r)
		decision, err := b.a.Look(b.ctx, r)
		want := s.kind
		if want == dedupe.Fresh {
			want = dedupe.InFlight
		}
		if err != nil || decision.Kind != want || decision.Claim != (dedupe.Claim{}) {
			b.Errorf("%s: %+v, %v", s.name, decision, err)
		}
		if want == dedupe.Replay && string(decision.Response.Body) != "one" {
			b.Errorf("%s: %+v", s.name, decision.Response)
		}
		eager := r
		accepts(&eager, "b")
		eager.Policy.Limit = dedupe.Limit{MaxAttempts: 1, MaxAge: 1}
		decision, err = b.a.Look(b.ctx, eager)
		if err != nil || (decision.Kind == dedupe.AlreadyQueued || decision.Kept) && !before.HasJob {
			b.Errorf("%s: looked at as stored: %+v, %v", s.name, decision, err)
		}
		other := r
		other.Fingerprint[0]++
		if decision, err = b.a.Look(b.ctx, other); err != nil || decision.Kind != dedupe.Conflict {
			b.Errorf("%s: another fingerprint is %+v, %v", s.name, decision, err)
		}
		if after := b.receipt(r); !reflect.DeepEqual(before, after) {
			b.Errorf("%s: looking made %+v of %+v", s.name, after, before)
		}
	}
}

func testDesk(b *bench) {
	elsewhere := event("elsewhere")
	elsewhere.Scope = "other/shop"
	b.settle(b.a, b.fresh(b.a, elsewhere, 1), notFinal())
	for i, s := range situations() {
		s.enter(b, event(name("evt_", i))) // one of them sweeps, and the expired claim becomes retryable
	}
	b.listed(dedupe.Filter{}, len(situations())+1)
	b.listed(dedupe.Filter{Scope: "acme/payments"}, len(situations()))
	b.listed(dedupe.Filter{Scope: "acme/nobody"}, 0)
	b.listed(dedupe.Filter{States: []dedupe.State{dedupe.Retryable}}, 5)
	b.listed(dedupe.Filter{States: []dedupe.State{dedupe.Dead, dedupe.Queued}, Scope: "acme/payments"}, 3)
	b.listed(dedupe.Filter{Limit: 4}, 4)
	b.pages()
	for _, r := range []dedupe.Request{elsewhere, event("evt_3")} {
		found, err := b.a.Find(b.ctx, delivery.Reference(r.Scope, r.EventID))
		if err != nil || len(found) != 1 || !reflect.DeepEqual(found[0], b.receipt(r)) {
			b.Errorf("found %+v, %v", found, err)
		}
	}
	if found, err := b.a.Find(b.ctx, "0123456789abcdef"); err != nil || len(found) != 0 {
		b.Errorf("found %+v, %v", found, err)
	}
	b.attention()
	b.oldest()
}

// oldest: a failed attempt does not make an event young again, and an event is dead since it died.
func (b *bench) oldest() {
	b.Helper()
	for id, c := range map[string]struct {
		stored bool
		status int
		state  dedupe.State
		least  time.Duration
		most   time.Duration
	}{
		"fails":       {true, 503, dedupe.Queued, 3 * time.Hour, 4 * time.Hour},
		"dies":        {true, 422, dedupe.Dead, 0, time.Hour},
		"fails-again": {false, 503, dedupe.Retryable, 3 * time.Hour, 4 * time.Hour},
	} {
		r := accepted(id, "a")
		r.Scope = delivery.Scope("oldest/" + id)
		if c.stored {
			b.accept(r)
			b.age(r, 3*time.Hour)
			b.settleWork(b.a, b.takeOne(b.a, r, 1), answer(c.status, ""))
		} else {
			r.Accept = false
			b.settle(b.a, b.fresh(b.a, r, 1), notFinal())
			b.age(r, 3*time.Hour)
			b.settle(b.a, b.fresh(b.a, r, 2), notFinal())
		}
		b.oldestOf(r, c.state, c.least, c.most)
	}
}

func (b *bench) oldestOf(r dedupe.Request, state dedupe.State, least, most time.Duration) {
	b.Helper()
	all, err := b.b.Attention(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	seen := false
	for _, a := range all {
		if a.Scope != r.Scope {
			continue
		}
		seen = true
		if a.State != state || a.Count != 1 || a.Oldest < least || a.Oldest > most {
			b.Errorf("an event of three hours, %s: %+v", r.EventID, a)
		}
	}
	if !seen {
		b.Errorf("%s needs no attention", r.EventID)
	}
}

func (b *bench) listed(f dedupe.Filter, want int) []dedupe.Receipt {
	b.Helper()
	list, err := b.b.List(b.ctx, f)
	if err != nil || len(list) != want {
		b.Errorf("%+v lists %d receipts, want %d (%v)", f, len(list), want, err)
	}
	for i := range list {
		if i > 0 && list[i].Changed.Before(list[i-1].Changed) {
			b.Errorf("%+v does not list the oldest change first", f)
		}
	}
	return list
}

// pages lists by twos what one list shows at once.
func (b *bench) pages() {
	b.Helper()
	all := b.listed(dedupe.Filter{Scope: "acme/payments"}, len(situations()))
	for i := 0; i < len(all); i += 2 {
		page := b.listed(dedupe.Filter{Scope: "acme/payments", Limit: 2, Offset: i}, 2)
		if !reflect.DeepEqual(page, all[i:i+2]) {
			b.Errorf("the page at %d is %+v", i, page)
		}
	}
}

func (b *bench) attention() {
	b.Helper()
	b.age(event("evt_7"), time.Hour)
	all, err := b.a.Attention(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	counts := map[dedupe.Attention]bool{}
	for _, a := range all {
		if a.State == dedupe.Dead && (a.Oldest < time.Hour || a.Oldest > 2*time.Hour) {
			b.Errorf("the oldest dead event is of %v", a.Oldest)
		}
		a.Oldest = 0
		counts[a] = true
	}
	want := map[dedupe.Attention]bool{
		{Scope: "acme/payments", State: dedupe.Claimed, Count: 1}:   true,
		{Scope: "acme/payments", State: dedupe.Retryable, Count: 4}: true,
		{Scope: "acme/payments", State: dedupe.Queued, Count: 1}:    true,
		{Scope: "acme/payments", State: dedupe.Dead, Count: 2}:      true,
		{Scope: "other/shop", State: dedupe.Retryable, Count: 1}:    true,
	}
	if !reflect.DeepEqual(counts, want) {
		b.Errorf("attention is %+v", all)
	}
}

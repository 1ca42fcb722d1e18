package dedupetest

import (
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// history is what a store knows of one event.
func (b *bench) history(key dedupe.Key) dedupe.History {
	b.Helper()
	last := len(key.EventID) - 1
	before := key.EventID[:last] + delivery.EventID(key.EventID[last]-1) + "~~~" // nothing of a test is between them
	page, err := b.h.Audit.History(b.ctx, key.Scope, before, 1)
	if err != nil || len(page) != 1 || page[0].Key != key {
		b.Fatalf("the history of %s is %+v, %v", key.EventID, page, err)
	}
	return page[0]
}

// chained expects that the sums which a store gives are those that Link computes.
func (b *bench) chained(h dedupe.History) {
	b.Helper()
	var previous dedupe.Sum
	for i := range h.Evidence {
		if want := h.Evidence[i].Link(h.Key, previous); h.Evidence[i].Sum != want {
			b.Fatalf("row %d of %s has the sum %s, want %s: %+v", i, h.EventID, h.Evidence[i].Sum, want, h.Evidence[i])
		}
		previous = h.Evidence[i].Sum
	}
	if h.Head != previous {
		b.Fatalf("the receipt of %s knows %s, want %s", h.EventID, h.Head, previous)
	}
}

// auditChain walks an event through states that end in every way: not at all, at once, or later.
func auditChain(b *bench) {
	row := newRow("evt_1")
	if _, err := b.h.Store.Insert(b.ctx, []dedupe.NewRow{row}); err != nil {
		b.Fatal(err)
	}
	at := dedupe.Claimed
	for i, m := range []dedupe.Move{
		{To: dedupe.Retryable, Reason: dedupe.NotFinal, Status: 503, Expires: time.Hour},
		{To: dedupe.Claimed, Lease: lease, OnExpiry: dedupe.Dead},
		{To: dedupe.Queued, Reason: dedupe.Unreachable, After: time.Minute, Job: job("q")},
		{To: dedupe.Dead, Reason: dedupe.MaxAge, JobFor: time.Hour},
		{To: dedupe.Dead, Reason: dedupe.Rejected, Expires: 100 * 365 * 24 * time.Hour},
		{To: dedupe.Applied, Status: 200, Expires: time.Microsecond, Response: applyResponse(), DropJob: true},
	} {
		m.Key, m.FromState, m.FromToken, m.Token, m.Attempt = row.Key, at, row.Token, row.Token, i
		m.Evidence = &dedupe.Evidence{
			From: at, To: m.To, Attempt: i, Reason: m.Reason, Status: m.Status, Actor: "ada " + foreign, Note: foreign,
			CredentialID: name("key-", i),
		}
		if made, err := b.h.Store.Move(b.ctx, []dedupe.Move{m}); err != nil || !made[0] {
			b.Fatalf("move %d: %v, %v", i, made, err)
		}
		at = m.To
		h := b.history(row.Key)
		b.chained(h)
		last := h.Evidence[len(h.Evidence)-1]
		if len(h.Evidence) != i+1 || last.CredentialID != name("key-", i) || last.Checkpoint != 0 || last.Note != foreign {
			b.Fatalf("evidence is %+v", h.Evidence)
		}
		want := time.Time{}
		if m.Expires > 0 {
			want = last.At.Add(m.Expires)
		}
		if !last.Until.Equal(want) || !last.At.Equal(h.Changed) {
			b.Errorf("move %d ends %v, want %v: %+v", i, last.Until, want, last)
		}
		if got, head, err := b.h.Store.Evidence(b.ctx, row.Key); err != nil || len(got) != i+1 || got[i] != last || head != last.Sum {
			b.Errorf("evidence is %+v, %s, %v, want %+v", got, head, err, last)
		}
	}
	plain := from(newRow("evt_2"), dedupe.Applied)
	if _, err := b.h.Store.Insert(b.ctx, []dedupe.NewRow{newRow("evt_2")}); err != nil {
		b.Fatal(err)
	}
	if made, err := b.h.Store.Move(b.ctx, []dedupe.Move{plain}); err != nil || !made[0] {
		b.Fatalf("%v, %v", made, err)
	}
	if h := b.history(plain.Key); h.Head != (dedupe.Sum{}) || len(h.Evidence) != 0 {
		b.Errorf("the happy path left %+v", h)
	}
}

// auditOlder lets a replica of an older version, which does not chain, write rows of the same events.
func auditOlder(b *bench) {
	if b.h.Intruder == nil {
		b.Skip("nobody can write as an older version does")
	}
	r := b.failed("acme/older", "evt_1")
	b.h.Intruder.older(b, keyOf(r))
	b.seal(10)
	b.settle(b.a, b.fresh(b.a, r, 2), notFinal())
	h := b.history(keyOf(r))
	if len(h.Evidence) != 3 || h.Evidence[1].Sum != (dedupe.Sum{}) || h.Evidence[2].Link(h.Key, h.Evidence[0].Sum) != h.Head {
		b.Fatalf("history is %+v", h)
	}
	b.seal(10)
	if s := b.audited(r.Scope); s.Rows != 3 || s.Unchained != 1 || s.Sealed != 2 || s.Checkpoints != 2 {
		b.Errorf("an audit sees %+v", s)
	}
}

// auditChainRace lets many replicas change many events at once.
func auditChainRace(b *bench) {
	const scope = delivery.Scope("acme/race")
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			by := []replica{b.a, b.b}[worker%2]
			for i := range manyRounds(30) {
				r := event(name("evt_", i%3))
				r.Scope = scope
				decision, err := by.Claim(b.ctx, r)
				if err != nil {
					b.Errorf("claim: %v", err)
					return
				}
				if decision.Kind == dedupe.Fresh {
					s := []dedupe.Settlement{notFinal(), notSent()}[(i+worker)%2]
					if err := by.Settle(b.ctx, decision.Claim, s); err != nil {
						b.Errorf("settle: %v", err)
					}
				}
			}
		})
	}
	running.Wait()
	for i := range 3 {
		h := b.history(dedupe.Key{Scope: scope, EventID: delivery.EventID(name("evt_", i))})
		b.chained(h)
		if len(h.Evidence) == 0 {
			b.Error("nothing happened")
		}
	}
	b.seal(7)
	b.audited(scope)
}

// auditHistory reads receipts with and without evidence, page by page.
func auditHistory(b *bench) {
	const scope = delivery.Scope("acme/pages")
	for i := range 7 {
		r := event(name("evt_", i))
		r.Scope = scope
		c := b.fresh(b.a, r, 1)
		if i%2 == 0 {
			b.settle(b.a, c, notFinal())
			continue
		}
		b.settle(b.a, c, applied("one"))
	}
	b.failed("acme/elsewhere", "evt_3")
	var seen []dedupe.History
	for after, more := delivery.EventID(""), true; more; {
		page, err := b.h.Audit.History(b.ctx, scope, after, 3)
		if err != nil || len(page) > 3 {
			b.Fatalf("%d receipts, %v", len(page), err)
		}
		if more = len(page) == 3; len(page) > 0 {
			after = page[len(page)-1].EventID
		}
		seen = append(seen, page...)
	}
	if len(seen) != 7 {
		b.Fatalf("read %+v", seen)
	}
	for i, h := range seen {
		r := event(name("evt_", i))
		r.Scope = scope
		want := b.receipt(r)
		if h.EventID != r.EventID || h.Scope != scope || h.State != want.State || len(h.Evidence) != (i+1)%2 || h.Response != nil ||
			h.CredentialID != "key-1" || !h.Created.Equal(want.Created) || !h.Expires.Equal(want.Expires) {
			b.Errorf("receipt %d is %+v, want %+v", i, h, want)
		}
	}
	if page, err := b.h.Audit.History(b.ctx, "acme/nobody", "", 3); err != nil || len(page) != 0 {
		b.Errorf("read %+v, %v", page, err)
	}
	scopes, err := b.h.Audit.Scopes(b.ctx)
	if err != nil || len(scopes) != 2 || scopes[0] != "acme/elsewhere" || scopes[1] != scope {
		b.Errorf("scopes are %v, %v", scopes, err)
	}
}

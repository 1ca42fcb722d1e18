package dedupetest

import (
	"bytes"
	"reflect"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func testSettlements(b *bench) {
	for i, c := range []struct {
		s      dedupe.Settlement
		reason dedupe.Reason
		status int
	}{
		{applied("one"), dedupe.NoReason, 200},
		{notFinal(), dedupe.NotFinal, 503},
		{notSent(), dedupe.Unreachable, 0},
		{queued(job("q")), dedupe.NotFinal, 503},
		{dead(job("d")), dedupe.Quarantined, 0},
		{dead(nil), dedupe.Quarantined, 0},
	} {
		r := event(name("evt_", i))
		b.settle(b.a, b.fresh(b.a, r, 1), c.s)
		got := b.state(r, c.s.To, c.reason)
		b.sameSettlement(got, c.s, c.status)
		kept, err := b.h.Store.Job(b.ctx, keyOf(r))
		if c.s.Job == nil && err != dedupe.ErrNotFound || c.s.Job != nil && !reflect.DeepEqual(kept, c.s.Job) {
			b.Errorf("%s: kept %+v, %v", got.State, kept, err)
		}
	}
}

func (b *bench) sameSettlement(got dedupe.Receipt, s dedupe.Settlement, status int) {
	b.Helper()
	if got.Status != status || got.HasJob != (s.Job != nil) {
		b.Errorf("%s: status %d, job %v", got.State, got.Status, got.HasJob)
	}
	if (got.Response != nil) != (s.To == dedupe.Applied) {
		b.Errorf("%s: response %+v", got.State, got.Response)
	}
	if forgotten := got.Expires.Sub(got.Changed); s.Expires > 0 && forgotten != s.Expires || s.Expires == 0 && !got.Expires.IsZero() {
		b.Errorf("%s: expires %v, changed %v", got.State, got.Expires, got.Changed)
	}
	if next := got.NextAttempt.Sub(got.Changed); s.To == dedupe.Queued && next != s.After {
		b.Errorf("%s: next attempt in %v, want %v", got.State, next, s.After)
	}
	if attempts := got.Attempts; s.Counts != (attempts == 1) {
		b.Errorf("%s: %d attempts", got.State, attempts)
	}
}

func testSettleTwice(b *bench) {
	for i, s := range []dedupe.Settlement{applied("one"), notFinal(), notSent(), queued(job("q")), dead(job("d"))} {
		r := event(name("evt_", i))
		c := b.fresh(b.a, r, 1)
		b.settle(b.a, c, s)
		before := b.receipt(r)
		b.settle(b.b, c, s)
		if after := b.receipt(r); !reflect.DeepEqual(before, after) {
			b.Errorf("%s: settling again made %+v of %+v", s.To, after, before)
		}
		other := notFinal()
		other.Response = &delivery.Response{Status: 599}
		b.lost(b.a, c, other)
	}
}

func testSettleForeign(b *bench) {
	r := event("evt_1")
	c := b.fresh(b.a, r, 1)
	forged := c
	forged.Token[0]++
	b.lost(b.b, forged, applied("forged"))
	nobody := c
	nobody.EventID = "evt_2"
	b.lost(b.b, nobody, applied("nobody"))
	elsewhere := c
	elsewhere.Scope = "acme/elsewhere"
	b.lost(b.b, elsewhere, applied("elsewhere"))
	b.state(r, dedupe.Claimed, dedupe.NoReason)
	b.settle(b.a, c, applied("one"))
}

func testForeignBytes(b *bench) {
	long := strings.Repeat(foreign, 2000)
	s := applied("")
	s.Response = &delivery.Response{
		Status: 299, Body: []byte(long), Header: map[string][]string{"X-Long": {long}, foreign: {"", foreign}, "X-None": {}},
	}
	r := event("evt_1")
	r.Object, r.Trace = foreign, foreign
	b.settle(b.a, b.fresh(b.a, r, 1), s)
	if got := b.expect(b.b, r, dedupe.Replay); !reflect.DeepEqual(got.Response, s.Response) {
		b.Errorf("the response came back as %+v", got.Response)
	}
	if got := b.receipt(r); got.Object != foreign || got.Trace != foreign {
		b.Errorf("the receipt came back as %+v", got)
	}
	r = event("evt_2")
	kept := &dedupe.Job{Method: foreign, Target: foreign, Host: foreign, Header: s.Response.Header, Body: []byte(long)}
	b.settle(b.a, b.fresh(b.a, r, 1), queued(kept))
	if got, err := b.h.Store.Job(b.ctx, keyOf(r)); err != nil || !reflect.DeepEqual(got, kept) {
		b.Errorf("the job came back as %+v, %v", got, err)
	}
	for i, response := range []*delivery.Response{
		{Status: 204, Header: map[string][]string{}},
		{Status: 200, Header: map[string][]string{}, Omitted: true},
	} {
		r := event(name("small_", i))
		s.Response = response
		b.settle(b.a, b.fresh(b.a, r, 1), s)
		got := b.expect(b.b, r, dedupe.Replay).Response
		if got == nil || got.Status != response.Status || got.Omitted != response.Omitted || len(got.Body) > 0 || got.Header == nil {
			b.Errorf("the response came back as %+v", got)
		}
	}
}

func testEvidence(b *bench) {
	happy := event("happy")
	b.settle(b.a, b.fresh(b.a, happy, 1), applied("one"))
	b.expect(b.a, happy, dedupe.Replay)
	if got := b.receipt(happy).Evidence; len(got) != 0 {
		b.Errorf("the happy path left %+v", got)
	}
	r := event("evt_1")
	by := func(credential string) dedupe.Request {
		r.CredentialID = credential
		return r
	}
	b.settle(b.a, b.fresh(b.a, by("key-1"), 1), notSent())
	b.settle(b.b, b.fresh(b.b, by("key-2"), 1), notFinal())
	b.fresh(b.a, by("key-3"), 2)
	b.expire(r)
	b.settle(b.b, b.fresh(b.b, by("key-4"), 3), dead(job(foreign)))
	_, err := b.a.Replay(b.ctx, r.Scope, r.EventID, dedupe.Act{Actor: "ada " + foreign, Reason: "why " + foreign})
	b.act(err)
	b.settle(b.a, b.fresh(b.a, by("key-5"), 4), applied("one"))
	b.act(b.b.Reopen(b.ctx, r.Scope, r.EventID, operator))
	b.sameEvidence(b.receipt(r).Evidence, []dedupe.Evidence{
		{From: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.Unreachable, Actor: "a", CredentialID: "key-1"},
		{From: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.NotFinal, Status: 503, Actor: "b", CredentialID: "key-2"},
		{From: dedupe.Claimed, To: dedupe.Claimed, Attempt: 2, Reason: dedupe.LeaseExpired, Actor: "b", CredentialID: "key-4"},
		{From: dedupe.Claimed, To: dedupe.Dead, Attempt: 3, Reason: dedupe.Quarantined, Actor: "b", CredentialID: "key-4"},
		{From: dedupe.Dead, To: dedupe.Retryable, Attempt: 3, Reason: dedupe.Replayed, Actor: "ada " + foreign, Note: "why " + foreign},
		{From: dedupe.Claimed, To: dedupe.Applied, Attempt: 4, Status: 200, Actor: "a", CredentialID: "key-5"},
		{From: dedupe.Applied, To: dedupe.Retryable, Attempt: 4, Reason: dedupe.Reopened, Actor: operator.Actor, Note: operator.Reason},
	})
}

// sameEvidence compares all but the times, which must not run backwards.
func (b *bench) sameEvidence(got, want []dedupe.Evidence) {
	b.Helper()
	var last time.Time
	for i := range got {
		if got[i].At.IsZero() || got[i].At.Before(last) {
			b.Errorf("evidence %d is of %v, after %v", i, got[i].At, last)
		}
		last, got[i].At, got[i].Until, got[i].Sum = got[i].At, time.Time{}, time.Time{}, dedupe.Sum{}
	}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("evidence is\n%+v, want\n%+v", got, want)
	}
}

func testReplayQueued(b *bench) {
	worker := b.replica("w", b.h.Store, true)
	with, without := event("with"), event("without")
	kept := job(foreign)
	b.settle(b.a, b.fresh(b.a, with, 1), dead(kept))
	b.settle(b.a, b.fresh(b.a, without, 1), dead(nil))
	for r, want := range map[*dedupe.Request]dedupe.State{&with: dedupe.Queued, &without: dedupe.Retryable} {
		if got, err := worker.Replay(b.ctx, r.Scope, r.EventID, operator); got != want || err != nil {
			b.Errorf("%s: replayed to %s, %v", r.EventID, got, err)
		}
		b.state(*r, want, dedupe.Replayed)
	}
	due, err := b.h.Store.Due(b.ctx, []delivery.Scope{with.Scope}, 10)
	if err != nil || len(due.Rows) != 1 || due.Rows[0].EventID != with.EventID {
		b.Errorf("due are %+v, %v", due, err)
	}
	got, err := b.h.Store.Job(b.ctx, keyOf(with))
	if err != nil || !bytes.Equal(got.Body, kept.Body) {
		b.Errorf("the job is %+v, %v", got, err)
	}
}

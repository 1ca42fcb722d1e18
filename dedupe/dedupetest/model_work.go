package dedupetest

import (
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

// acceptAny delivers an event in accept mode.
func (m *model) acceptAny(t *rapid.T) {
	r := m.request(m.drawID(t), rapid.SampledFrom([]byte{1, 1, 1, 2}).Draw(t, "fingerprint"))
	accepts(&r, "accepted")
	e := m.events[r.EventID]
	if e == nil {
		e = &modelEvent{fingerprint: r.Fingerprint[0]}
		m.events[r.EventID] = e
	}
	kind, first := e.accept(r)
	got := m.expect(rapid.SampledFrom([]replica{m.a, m.b}).Draw(t, "replica"), r, kind)
	if got.First != first {
		t.Fatalf("first is %t, want %t: %+v", got.First, first, got)
	}
}

// accept is what such a delivery does to the event and is told.
func (e *modelEvent) accept(r dedupe.Request) (kind dedupe.Kind, first bool) {
	switch {
	case e.state != 0 && e.fingerprint != r.Fingerprint[0]:
		return dedupe.Conflict, false
	case e.state == dedupe.Claimed && e.job:
		return dedupe.AlreadyQueued, false
	case e.state == dedupe.Claimed && !e.expired:
		return dedupe.InFlight, false
	case e.state == 0, e.state == dedupe.Claimed, e.state == dedupe.Retryable:
		if e.state != 0 {
			e.evidence++
		}
		e.become(dedupe.Queued, dedupe.Accepted, 0)
		e.token, e.job, e.due = dedupe.Token{}, true, true
		return dedupe.AlreadyQueued, true
	case e.state == dedupe.Dead:
		e.job = true // its own, where it had none
	}
	return map[dedupe.State]dedupe.Kind{
		dedupe.Queued: dedupe.AlreadyQueued, dedupe.Applied: dedupe.Replay, dedupe.Dead: dedupe.DeadLetter, dedupe.Closed: dedupe.Ended,
	}[e.state], false
}

// takeAll lets a worker take everything that is due.
func (m *model) takeAll(t *rapid.T) {
	by := rapid.SampledFrom([]replica{m.a, m.b}).Draw(t, "replica")
	works := map[delivery.EventID]dedupe.Work{}
	for _, w := range m.take(by, 10, dedupe.Quota{Scope: m.scope, Most: 10, Policy: policy()}).Works {
		works[w.Claim.EventID] = w
	}
	for id, e := range m.events {
		w, taken := works[id]
		if taken != (e.state == dedupe.Queued && e.due) {
			t.Fatalf("%s is %s, due %t, taken %t", id, e.state, e.due, taken)
		}
		if !taken {
			continue
		}
		e.attempts++
		if w.Claim.Attempt != e.attempts || w.Job == nil {
			t.Fatalf("%s: taken as attempt %d, want %d, with %v", id, w.Claim.Attempt, e.attempts, w.Job)
		}
		e.become(dedupe.Claimed, dedupe.NoReason, 0)
		e.token, e.onExpiry = w.Claim.Token, dedupe.Queued
		m.claims = append(m.claims, w.Claim)
	}
}

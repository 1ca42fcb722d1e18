package dedupetest

import (
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

// testModel plays any order of calls against the store and against a few lines that say what must come of them.
func testModel(b *bench) {
	t := b.TB
	var plays atomic.Int64
	b.policy.Backoff.Jitter = func() float64 { return 0 } // what the sweeper queues is due at once
	rapid.Check(t, func(rt *rapid.T) {
		play := *b
		play.TB = rt
		m := &model{bench: &play, scope: delivery.Scope(name("model/", plays.Add(1))), events: map[delivery.EventID]*modelEvent{}}
		rt.Repeat(map[string]func(*rapid.T){
			"claim": m.claimAny, "settle": m.settleAny, "expire": m.expireAny, "sweep": m.sweepAll, "act": m.actAny,
			"forget": m.forgetAny, "accept": m.acceptAny, "take": m.takeAll, "": m.compare,
		})
	})
}

// model is what is expected of one scope.
type model struct {
	*bench
	scope  delivery.Scope
	events map[delivery.EventID]*modelEvent
	claims []dedupe.Claim // all that were ever made
	last   delivery.EventID
}

// modelEvent is what is expected of one receipt.
type modelEvent struct {
	state       dedupe.State
	reason      dedupe.Reason
	attempts    int
	status      int
	body        string
	fingerprint byte
	token       dedupe.Token // of the claim that may settle, or has settled
	expired     bool
	onExpiry    dedupe.State
	evidence    int
	settled     dedupe.Settlement // by token, as long as nothing else happened
	job, due    bool              // its request is kept; queued: its time has come
	dead        time.Duration     // how long it has been dead
}

func (m *model) request(id delivery.EventID, fingerprint byte) dedupe.Request {
	r := event(string(id))
	r.Scope = m.scope
	r.Fingerprint = [32]byte{fingerprint}
	return r
}

func (m *model) drawID(t *rapid.T) delivery.EventID {
	m.last = rapid.SampledFrom([]delivery.EventID{"a", "b", "a:b"}).Draw(t, "id")
	return m.last
}

func (m *model) claimAny(t *rapid.T) {
	r := m.request(m.drawID(t), rapid.SampledFrom([]byte{1, 1, 1, 2}).Draw(t, "fingerprint"))
	r.Policy.Limit.MaxAttempts = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "limit")
	r.Policy.InDoubt = rapid.SampledFrom([]dedupe.InDoubt{dedupe.Retry, dedupe.Quarantine}).Draw(t, "in doubt")
	e := m.events[r.EventID]
	if e == nil {
		e = &modelEvent{fingerprint: r.Fingerprint[0]}
		m.events[r.EventID] = e
	}
	kind := e.claim(r)
	got := m.expect(rapid.SampledFrom([]replica{m.a, m.b}).Draw(t, "replica"), r, kind)
	if kind == dedupe.Fresh {
		e.token = got.Claim.Token
		m.claims = append(m.claims, got.Claim)
	}
	if got.Kept != (kind == dedupe.DeadLetter && e.job) {
		t.Fatalf("kept %t of %+v", got.Kept, e)
	}
	if got.Attempt != e.attempts || got.Claim.Attempt != 0 && got.Claim.Attempt != e.attempts {
		t.Fatalf("attempt %d and %d, want %d", got.Attempt, got.Claim.Attempt, e.attempts)
	}
}

// claim is what a delivery does to the event and is told.
func (e *modelEvent) claim(r dedupe.Request) dedupe.Kind {
	limit, quarantine := r.Policy.Limit.MaxAttempts, r.Policy.InDoubt == dedupe.Quarantine
	used := limit > 0 && e.attempts >= limit
	byHand := e.reason == dedupe.Replayed || e.reason == dedupe.Reopened
	switch {
	case e.state != 0 && e.fingerprint != r.Fingerprint[0]:
		return dedupe.Conflict
	case e.state == 0:
		e.run(r)
	case e.state == dedupe.Claimed && !e.expired:
		return dedupe.InFlight
	case e.state == dedupe.Claimed && e.job:
		return dedupe.AlreadyQueued
	case e.state == dedupe.Claimed && quarantine:
		return e.die(dedupe.Quarantined)
	case e.state == dedupe.Claimed && used:
		return e.die(dedupe.MaxAttempts)
	case e.state == dedupe.Claimed:
		e.evidence++
		e.run(r)
	case e.state == dedupe.Retryable && used && !byHand && e.reason != dedupe.Unreachable:
		return e.die(dedupe.MaxAttempts)
	case e.state == dedupe.Retryable:
		e.run(r)
	default:
		return map[dedupe.State]dedupe.Kind{
			dedupe.Queued: dedupe.AlreadyQueued, dedupe.Applied: dedupe.Replay, dedupe.Dead: dedupe.DeadLetter, dedupe.Closed: dedupe.Ended,
		}[e.state]
	}
	return dedupe.Fresh
}

func (e *modelEvent) run(r dedupe.Request) {
	e.attempts++
	e.become(dedupe.Claimed, dedupe.NoReason, 0)
	if e.onExpiry = dedupe.Retryable; e.job {
		e.onExpiry = dedupe.Queued
	}
	if limit := r.Policy.Limit.MaxAttempts; r.Policy.InDoubt == dedupe.Quarantine || limit > 0 && e.attempts >= limit {
		e.onExpiry = dedupe.Dead
	}
}

func (e *modelEvent) die(reason dedupe.Reason) dedupe.Kind {
	e.become(dedupe.Dead, reason, e.status)
	e.token, e.job = dedupe.Token{}, true
	e.evidence++
	return dedupe.DeadLetter
}

func (e *modelEvent) become(state dedupe.State, reason dedupe.Reason, status int) {
	e.state, e.reason, e.status, e.expired, e.settled = state, reason, status, false, dedupe.Settlement{}
	e.due, e.dead = false, 0
	if state == dedupe.Applied || state == dedupe.Closed {
		e.job = false
	}
}

func (m *model) settleAny(t *rapid.T) {
	if len(m.claims) == 0 {
		t.Skip("nothing was claimed")
	}
	c := rapid.SampledFrom(m.claims).Draw(t, "claim")
	m.last = c.EventID
	again := queued(job("q"))
	again.After = time.Hour // not due while the play lasts, however slow the machine is
	s := rapid.SampledFrom([]dedupe.Settlement{applied("one"), applied("two"), notFinal(), notSent(), again, dead(nil)}).Draw(t, "settlement")
	e := m.events[c.EventID]
	if e == nil || e.token != c.Token {
		m.lost(m.a, c, s)
		return
	}
	if e.state != dedupe.Claimed {
		same := e.settled.To == s.To && e.settled.Reason == s.Reason
		if err := m.trySettle(m.b, c, s); same && err != nil || !same && !errors.Is(err, dedupe.ErrClaimLost) {
			t.Fatalf("settling again: %v", err)
		}
		return
	}
	m.settle(m.b, c, s)
	e.settle(c, s)
}

func (e *modelEvent) settle(c dedupe.Claim, s dedupe.Settlement) {
	status := 0
	if s.Response != nil {
		status, e.body = s.Response.Status, string(s.Response.Body)
	}
	if s.To != dedupe.Applied || c.Attempt > 1 || e.evidence > 0 {
		e.evidence++
	}
	if !s.Counts {
		e.attempts--
	}
	e.become(s.To, s.Reason, status)
	e.settled, e.job = s, e.job || s.Job != nil
}

func (m *model) expireAny(t *rapid.T) {
	id := m.drawID(t)
	if e := m.events[id]; e != nil && e.state == dedupe.Claimed {
		m.expire(m.request(id, 1))
		e.expired = true
	}
}

func (m *model) sweepAll(t *rapid.T) {
	for m.sweep().More {
	}
	for _, e := range m.events {
		if e.state != dedupe.Claimed || !e.expired {
			continue
		}
		reason := dedupe.LeaseExpired
		if e.onExpiry == dedupe.Dead {
			reason = dedupe.Quarantined
		}
		e.become(e.onExpiry, reason, 0)
		e.token, e.due = dedupe.Token{}, e.onExpiry == dedupe.Queued
		e.evidence++
	}
}

func (m *model) actAny(t *rapid.T) {
	id := m.drawID(t)
	verb := rapid.SampledFrom([]string{"close", "reopen", "replay"}).Draw(t, "verb")
	act, e := m.acts()[verb], m.events[id]
	err := act.do(m.a, m.request(id, 1))
	switch {
	case e == nil:
		if !errors.Is(err, dedupe.ErrNotFound) {
			t.Fatalf("%s of nothing: %v", verb, err)
		}
	case e.state != act.from:
		if !errors.Is(err, dedupe.ErrState) {
			t.Fatalf("%s when %s: %v", verb, e.state, err)
		}
	case err != nil:
		t.Fatalf("%s: %v", verb, err)
	default:
		status := map[string]int{"close": 410}[verb]
		e.become(act.to, map[string]dedupe.Reason{
			"close": dedupe.ClosedByHand, "reopen": dedupe.Reopened, "replay": dedupe.Replayed,
		}[verb], status)
		e.evidence++
		e.token = dedupe.Token{}
	}
}

func (m *model) forgetAny(t *rapid.T) {
	id := m.drawID(t)
	e := m.events[id]
	if e == nil || e.state == dedupe.Claimed {
		return
	}
	const aged = 7*24*time.Hour + unsealed
	m.age(m.request(id, 1), aged)
	e.due = e.state == dedupe.Queued
	if e.dead += aged; e.state == dedupe.Dead && e.dead > policy().Retention.DeadLetter {
		e.job = false
	}
	m.sweepAll(t)
	if e.state == dedupe.Applied || e.state == dedupe.Retryable || e.state == dedupe.Closed {
		delete(m.events, id)
	}
}

// compare looks at every receipt of the scope, and at the evidence of the last event that something was done to.
func (m *model) compare(t *rapid.T) {
	list, err := m.b.List(m.ctx, dedupe.Filter{Scope: m.scope})
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[delivery.EventID]modelEvent{}, map[delivery.EventID]modelEvent{}
	for _, receipt := range list {
		seen := modelEvent{
			state: receipt.State, reason: receipt.Reason, attempts: receipt.Attempts, status: receipt.Status,
			fingerprint: receipt.Fingerprint[0], job: receipt.HasJob,
		}
		if receipt.Response != nil {
			seen.body = string(receipt.Response.Body)
		}
		got[receipt.EventID] = seen
	}
	for id, e := range m.events {
		want[id] = e.visible()
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the ledger has %+v, want %+v", got, want)
	}
	if e := m.events[m.last]; e != nil {
		m.evidenced(m.request(m.last, 1), e.evidence)
	}
	m.audited(m.scope)
}

// visible is what a list shows of the event.
func (e *modelEvent) visible() modelEvent {
	seen := modelEvent{
		state: e.state, reason: e.reason, attempts: e.attempts, status: e.status, fingerprint: e.fingerprint, job: e.job,
	}
	if e.state == dedupe.Applied {
		seen.body = e.body
	}
	return seen
}

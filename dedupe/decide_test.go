package dedupe

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

var (
	noon   = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	mine   = Token{1}
	theirs = Token{2}
)

func request() Request {
	return Request{
		Scope: "acme/payments", EventID: "evt_1", Fingerprint: [32]byte{7},
		Policy: Policy{Lease: time.Minute, Retention: Retention{DeadLetter: time.Hour}},
		Job:    func() *Job { return &Job{Method: "POST"} },
	}
}

// stored is a row of somebody else's, a minute old, with 30 s of lease left.
func stored(state State) Row {
	return Row{
		Key: Key{Scope: "acme/payments", EventID: "evt_1"}, Fingerprint: [32]byte{7}, Trace: "first",
		State: state, Attempt: 3, Token: theirs, Created: noon.Add(-time.Minute), LeaseUntil: noon.Add(30 * time.Second),
	}
}

func TestDecide(t *testing.T) {
	kept := &delivery.Response{Status: 201}
	expired := func(row *Row) { row.LeaseUntil = noon }
	accept := func(r *Request) { r.Accept, r.Policy.OnFailure = true, Queue }
	for _, c := range []struct {
		name    string
		state   State
		row     func(*Row)
		request func(*Request)
		kind    Kind
		to      State // of the move; 0: none
		attempt int   // of the move
		reason  Reason
	}{
		{name: "running", state: Claimed, kind: InFlight},
		{name: "running, with its job, forward", state: Claimed, row: func(r *Row) { r.HasJob = true }, kind: InFlight},
		{name: "running, with its job, accept", state: Claimed, row: func(r *Row) { r.HasJob = true }, request: accept, kind: AlreadyQueued},
		{name: "running, without a job, accept", state: Claimed, request: accept, kind: InFlight},
		{name: "one instant left", state: Claimed, row: func(r *Row) { r.LeaseUntil = noon.Add(1) }, kind: InFlight},
		{name: "expired this instant", state: Claimed, row: expired, kind: Fresh, to: Claimed, attempt: 4},
		{name: "expired, accept", state: Claimed, row: expired, request: accept, kind: AlreadyQueued, to: Queued, attempt: 3, reason: Accepted},
		{name: "expired, with its job, accept: the sweeper's", state: Claimed, row: func(r *Row) { r.HasJob = true; expired(r) }, request: accept, kind: AlreadyQueued},
		{name: "expired, with its job, forward: the sweeper's", state: Claimed, row: func(r *Row) { r.HasJob = true; expired(r) }, kind: AlreadyQueued},
		{name: "expired, with its job, forward, quarantine: the sweeper's", state: Claimed, row: func(r *Row) { r.HasJob = true; expired(r) }, request: func(r *Request) { r.Policy.InDoubt = Quarantine }, kind: AlreadyQueued},
		{name: "expired, quarantine", state: Claimed, row: expired, request: func(r *Request) { r.Policy.InDoubt = Quarantine }, kind: DeadLetter, to: Dead, attempt: 3, reason: Quarantined},
		{name: "expired, last attempt", state: Claimed, row: expired, request: func(r *Request) { r.Policy.Limit.MaxAttempts = 3 }, kind: DeadLetter, to: Dead, attempt: 3, reason: MaxAttempts},
		{name: "expired, one attempt left", state: Claimed, row: expired, request: func(r *Request) { r.Policy.Limit.MaxAttempts = 4 }, kind: Fresh, to: Claimed, attempt: 4},
		{name: "expired, too old", state: Claimed, row: expired, request: func(r *Request) { r.Policy.Limit.MaxAge = time.Minute }, kind: DeadLetter, to: Dead, attempt: 3, reason: MaxAge},
		{name: "one's own, unknown commit", state: Claimed, row: func(r *Row) { r.Token, r.LeaseUntil = mine, noon.Add(time.Minute) }, kind: Fresh},
		{name: "one's own, half of the lease gone", state: Claimed, row: func(r *Row) { r.Token = mine }, kind: Fresh, to: Claimed, attempt: 3},
		{name: "one's own, expired, quarantine", state: Claimed, row: func(r *Row) { r.Token = mine; expired(r) }, request: func(r *Request) { r.Policy.InDoubt = Quarantine }, kind: Fresh, to: Claimed, attempt: 3},
		{name: "retryable", state: Retryable, kind: Fresh, to: Claimed, attempt: 4},
		{name: "retryable, last attempt", state: Retryable, request: func(r *Request) { r.Policy.Limit.MaxAttempts = 3 }, kind: DeadLetter, to: Dead, attempt: 3, reason: MaxAttempts},
		{name: "retryable, not sent", state: Retryable, row: func(r *Row) { r.Reason = Unreachable }, request: func(r *Request) { r.Policy.Limit.MaxAttempts = 3 }, kind: Fresh, to: Claimed, attempt: 4},
		{name: "retryable, not sent, too old", state: Retryable, row: func(r *Row) { r.Reason = Unreachable }, request: func(r *Request) { r.Policy.Limit.MaxAge = time.Second }, kind: DeadLetter, to: Dead, attempt: 3, reason: MaxAge},
		{name: "retryable, by a person, over the limits", state: Retryable, row: func(r *Row) { r.Reason = Replayed }, request: func(r *Request) { r.Policy.Limit = Limit{MaxAttempts: 1, MaxAge: 1} }, kind: Fresh, to: Claimed, attempt: 4},
		{name: "retryable, accept", state: Retryable, request: accept, kind: AlreadyQueued, to: Queued, attempt: 3, reason: Accepted},
		{name: "queued", state: Queued, kind: AlreadyQueued},
		{name: "applied", state: Applied, row: func(r *Row) { r.Response = kept }, kind: Replay},
		{name: "applied, under another ID", state: Applied, row: func(r *Row) { r.Response, r.EventID, r.Fingerprint = kept, "evt_0", [32]byte{} }, kind: SuspectReplay},
		{name: "applied, other content", state: Applied, row: func(r *Row) { r.Response, r.Fingerprint = kept, [32]byte{} }, kind: Conflict},
		{name: "retryable, under another ID", state: Retryable, row: func(r *Row) { r.EventID = "evt_0" }, kind: Fresh, to: Claimed, attempt: 4},
		{name: "retryable, under another ID, other content", state: Retryable, row: func(r *Row) { r.EventID, r.Fingerprint = "evt_0", [32]byte{} }, kind: Conflict},
		{name: "dead", state: Dead, kind: DeadLetter},
		{name: "dead, accept", state: Dead, request: accept, kind: DeadLetter, to: Dead, attempt: 3},
		{name: "dead, with its request, accept", state: Dead, row: func(r *Row) { r.HasJob = true }, request: accept, kind: DeadLetter},
		{name: "closed", state: Closed, kind: Ended},
	} {
		t.Run(c.name, func(t *testing.T) {
			row, r := stored(c.state), request()
			if c.row != nil {
				c.row(&row)
			}
			if c.request != nil {
				c.request(&r)
			}
			v := decide(&r, mine, Found{Row: row, Now: noon})
			if v.decision.Kind != c.kind || (v.move != nil) != (c.to != 0) {
				t.Fatalf("verdict %+v, move %+v", v.decision, v.move)
			}
			if (v.decision.Response != nil) != (row.State == Applied) {
				t.Errorf("response %+v", v.decision.Response)
			}
			token := mine
			if row.State == Dead {
				token = row.Token
			}
			if m := v.move; m != nil && (m.To != c.to || m.Attempt != c.attempt || m.Reason != c.reason || m.Token != token) {
				t.Errorf("move %+v", m)
			}
			consistent(t, &r, row, v)
		})
	}
}

// consistent is what holds for every verdict.
func consistent(t interface{ Fatalf(string, ...any) }, r *Request, row Row, v verdict) {
	d := v.decision
	if kept := row.HasJob || v.move != nil && v.move.Job != nil; d.Kept != (kept && d.Kind == DeadLetter) {
		t.Fatalf("kept %t for %+v, move %+v", d.Kept, row, v.move)
	}
	if d.Age < 0 || d.LeaseLeft < 0 || (d.LeaseLeft > 0) != (d.Kind == InFlight) {
		t.Fatalf("age %v, lease left %v for kind %d", d.Age, d.LeaseLeft, d.Kind)
	}
	if (d.Kind == Fresh) != (d.Claim != Claim{}) || d.Kind == Fresh && (d.Claim.EventID != row.EventID || d.Claim.Token != mine) {
		t.Fatalf("claim %+v for kind %d", d.Claim, d.Kind)
	}
	m := v.move
	if m == nil {
		if d.Kind == Fresh && row.Token != mine {
			t.Fatalf("fresh without a move: %+v", d)
		}
		return
	}
	if m.Key != row.Key || m.FromState != row.State || m.FromToken != row.Token || m.To != d.State {
		t.Fatalf("move %+v for %+v", m, d)
	}
	if regained := row.State == Dead && m.To == Dead && !row.HasJob && r.Accept; !regained && row.State != Claimed && row.State != Retryable {
		t.Fatalf("a claim moves a row that is %s", row.State)
	} else if regained && (m.Reason != row.Reason || m.Status != row.Status || m.Attempt != row.Attempt || m.Token != row.Token || m.JobFor == 0) {
		t.Fatalf("a request that is kept again changes more: %+v", m)
	}
	if (m.To == Claimed) != (m.Lease > 0) || m.To == Claimed && m.OnExpiry == 0 {
		t.Fatalf("lease %v, on expiry %s to %s", m.Lease, m.OnExpiry, m.To)
	}
	if m.To == Claimed && (m.OnExpiry == Retryable || !m.Kept || !d.Claim.Kept) && row.HasJob {
		t.Fatalf("an event whose request is kept is left to its sender: %+v", m)
	}
	if (m.Job != nil) != (r.Job != nil && (m.To == Dead || m.To == Queued)) {
		t.Fatalf("the request at hand is not kept, or for nothing: %+v", m)
	}
	if m.To == Dead && row.State != Dead && m.Evidence == nil {
		t.Fatalf("dead without evidence")
	}
}

func TestDecideOnAnyRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(int64(-time.Hour), int64(time.Hour))
		row := stored(rapid.SampledFrom([]State{Claimed, Retryable, Queued, Applied, Dead, Closed}).Draw(t, "state"))
		row.Reason = rapid.SampledFrom([]Reason{NoReason, NotFinal, Unreachable, Reopened, Replayed, Abandoned}).Draw(t, "reason")
		row.Token = rapid.SampledFrom([]Token{mine, theirs}).Draw(t, "token")
		row.Created = noon.Add(time.Duration(span.Draw(t, "created")))
		row.LeaseUntil = noon.Add(time.Duration(span.Draw(t, "lease until")))
		row.HasJob = rapid.Bool().Draw(t, "has job")
		row.Attempt = rapid.IntRange(0, 5).Draw(t, "attempt")
		row.Fingerprint = rapid.SampledFrom([][32]byte{{7}, {8}}).Draw(t, "fingerprint")
		row.EventID = rapid.SampledFrom([]delivery.EventID{"evt_1", "evt_0"}).Draw(t, "id")
		r := request()
		r.Policy.InDoubt = rapid.SampledFrom([]InDoubt{Retry, Quarantine}).Draw(t, "in doubt")
		r.Policy.Limit = Limit{MaxAttempts: rapid.IntRange(0, 5).Draw(t, "max attempts"), MaxAge: time.Duration(max(0, span.Draw(t, "max age")))}
		switch rapid.SampledFrom([]string{"forward", "forward, not at hand", "accept"}).Draw(t, "mode") {
		case "accept":
			r.Accept, r.Policy.OnFailure = true, Queue
		case "forward, not at hand":
			r.Job = nil
		}
		v := decide(&r, mine, Found{Row: row, Now: noon})
		consistent(t, &r, row, v)
		if again := decide(&r, mine, Found{Row: row, Now: noon}); !reflect.DeepEqual(v, again) {
			t.Fatalf("decided %+v, then %+v", v, again)
		}
		if row.Fingerprint != r.Fingerprint && v.move != nil {
			t.Fatalf("other content moved the row: %+v", v.move)
		}
		if r.Accept && v.decision.Kind == AlreadyQueued && !row.HasJob && row.State != Queued && v.move == nil {
			t.Fatalf("acknowledged without a job: %+v", v.decision)
		}
	})
}

func ExampleState_String() {
	for s := Claimed; s <= Closed; s++ {
		back, ok := ParseState(s.String())
		fmt.Println(s, back == s && ok)
	}
	fmt.Println(State(99))
	// Output:
	// claimed true
	// retryable true
	// queued true
	// applied true
	// dead true
	// closed true
	// unknown
}

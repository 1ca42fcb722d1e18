package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// want is an answer; empty fields must be absent, save Body of problems.
type want struct {
	status   int
	receipt  string
	code     string
	body     string
	replayed bool
	omitted  bool
	retry    bool
	outcome  proxy.Outcome
}

func (w want) check(t *testing.T, answer *http.Response, body string, record proxy.Record) {
	t.Helper()
	if answer.StatusCode != w.status {
		t.Errorf("status %d, want %d", answer.StatusCode, w.status)
	}
	for name, pair := range map[string][2]string{
		"Sidecar-Receipt":     {answer.Header.Get("Sidecar-Receipt"), w.receipt},
		"Idempotent-Replayed": {answer.Header.Get("Idempotent-Replayed"), map[bool]string{true: "true"}[w.replayed]},
		"Sidecar-Body":        {answer.Header.Get("Sidecar-Body"), map[bool]string{true: "omitted"}[w.omitted]},
		"problem":             {problemCode(answer, body), w.code},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", name, pair[0], pair[1])
		}
	}
	if got := answer.Header.Get("Retry-After") != ""; got != w.retry {
		t.Errorf("Retry-After %q, want it %v", answer.Header.Get("Retry-After"), w.retry)
	}
	if w.code == "" && body != w.body {
		t.Errorf("body %q, want %q", body, w.body)
	}
	if record.Outcome != w.outcome || record.Status != w.status || record.Code != w.code {
		t.Errorf("recorded as %s %d %q, want %s", record.Outcome, record.Status, record.Code, w.outcome)
	}
}

func problemCode(answer *http.Response, body string) string {
	if answer.Header.Get("Content-Type") != "application/problem+json" {
		return ""
	}
	var problem struct {
		Code   string `json:"code"`
		Status int    `json:"status"`
	}
	if json.Unmarshal([]byte(body), &problem) != nil || problem.Status != answer.StatusCode {
		return "malformed problem"
	}
	return problem.Code
}

func kept() *delivery.Response {
	return &delivery.Response{Status: 201, Header: http.Header{"Location": {"/orders/1"}}, Body: []byte("kept")}
}

func decided(d dedupe.Decision) func(e *edge) {
	return func(e *edge) { e.ledger.claim = func(dedupe.Request) (dedupe.Decision, error) { return d, nil } }
}

func results(result delivery.Result) func(e *edge) {
	return func(e *edge) {
		e.app.forward = func(context.Context, upstream.Attempt) delivery.Result { return result }
	}
}

// The answer table of forward mode, from the claim on.
func TestAnswersAfterTheClaim(t *testing.T) {
	replay := want{status: 201, receipt: "replayed", body: "kept", replayed: true, outcome: proxy.OutcomeReplayed}
	suspect, conflicting := replay, replay
	suspect.receipt, suspect.outcome = "suspect_replay", proxy.OutcomeSuspectReplay
	conflicting.receipt, conflicting.outcome = "conflict", proxy.OutcomeConflict
	omitted := replay
	omitted.body, omitted.omitted = "", true
	inFlight := want{status: 503, receipt: "in_flight", code: "in_flight", retry: true, outcome: proxy.OutcomeInFlight}
	inFlight425 := inFlight
	inFlight425.status = 425
	conflict := want{status: 422, receipt: "conflict", code: "event_conflict", outcome: proxy.OutcomeConflict}
	lost := func(look dedupe.Decision) func(*edge) {
		return func(e *edge) {
			e.ledger.settle = func(context.Context, dedupe.Settlement) error { return dedupe.ErrClaimLost }
			e.ledger.look = func() (dedupe.Decision, error) { return look, nil }
		}
	}
	for name, c := range map[string]struct {
		set   func(*edge)
		route func(*proxy.Route)
		want  want
	}{
		"applied":        {want: want{status: 200, receipt: "applied", body: "done", outcome: proxy.OutcomeApplied}},
		"replayed":       {set: decided(dedupe.Decision{Kind: dedupe.Replay, Response: kept()}), want: replay},
		"suspect replay": {set: decided(dedupe.Decision{Kind: dedupe.SuspectReplay, Response: kept()}), want: suspect},
		"omitted body": {
			set:  decided(dedupe.Decision{Kind: dedupe.Replay, Response: &delivery.Response{Status: 201, Omitted: true}}),
			want: omitted,
		},
		"not final": {
			set: results(answered(500, "not now")), want: want{status: 500, receipt: "retryable", body: "not now", outcome: proxy.OutcomeRetryable},
		},
		"unreachable": {
			set:  results(delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable}),
			want: want{status: 502, receipt: "retryable", code: "upstream_unreachable", outcome: proxy.OutcomeRetryable},
		},
		"too slow": {
			set:  results(delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut}),
			want: want{status: 504, receipt: "retryable", code: "upstream_timeout", outcome: proxy.OutcomeRetryable},
		},
		"cut off": {
			set:  results(delivery.Result{Outcome: delivery.Unknown, Cause: delivery.Incomplete}),
			want: want{status: 502, receipt: "retryable", code: "upstream_incomplete", outcome: proxy.OutcomeRetryable},
		},
		"cut off under quarantine": {
			set:   results(delivery.Result{Outcome: delivery.Unknown, Cause: delivery.Incomplete}),
			route: func(r *proxy.Route) { r.Policy.InDoubt = dedupe.Quarantine },
			want:  want{status: 502, receipt: "dead", code: "upstream_incomplete", outcome: proxy.OutcomeDead},
		},
		"not recorded": {
			set: func(e *edge) {
				e.ledger.settle = func(context.Context, dedupe.Settlement) error { return errors.New("down") }
			},
			want: want{status: 503, code: "ledger_unavailable", retry: true, outcome: proxy.OutcomeUnrecorded},
		},
		"lost to a successor that is done":  {set: lost(dedupe.Decision{Kind: dedupe.Replay, Response: kept()}), want: replay},
		"lost to a successor that is not":   {set: lost(dedupe.Decision{Kind: dedupe.InFlight}), want: inFlight},
		"in flight":                         {set: decided(dedupe.Decision{Kind: dedupe.InFlight, LeaseLeft: time.Minute}), want: inFlight},
		"in flight, as the sender wants it": {set: decided(dedupe.Decision{Kind: dedupe.InFlight}), route: func(r *proxy.Route) { r.InFlightStatus = 425 }, want: inFlight425},
		"conflict":                          {set: decided(dedupe.Decision{Kind: dedupe.Conflict, Response: kept()}), want: conflict},
		"conflict replayed":                 {set: decided(dedupe.Decision{Kind: dedupe.Conflict, Response: kept()}), route: replayConflict, want: conflicting},
		"conflict, its result sealed":       {set: decided(dedupe.Decision{Kind: dedupe.Conflict, Sealed: &dedupe.SealedError{}}), want: conflict},
		"conflict replayed, but sealed": {
			set: decided(dedupe.Decision{Kind: dedupe.Conflict, Sealed: &dedupe.SealedError{}}), route: replayConflict,
			want: want{status: 503, code: "ledger_unavailable", retry: true, outcome: proxy.OutcomeUnavailable},
		},
		"conflict without a result":         {set: decided(dedupe.Decision{Kind: dedupe.Conflict}), route: replayConflict, want: conflict},
		"dead after the application's 500":  {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter, LastStatus: 500}), want: want{status: 500, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"dead after the application's 404":  {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter, LastStatus: 404}), want: want{status: 503, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"dead after the application's 601":  {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter, LastStatus: 601}), want: want{status: 503, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"dead without an answer":            {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter}), want: want{status: 503, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"closed":                            {set: decided(dedupe.Decision{Kind: dedupe.Ended}), want: want{status: 200, receipt: "closed", outcome: proxy.OutcomeClosed}},
		"closed with the operator's answer": {set: decided(dedupe.Decision{Kind: dedupe.Ended, LastStatus: 410}), want: want{status: 410, receipt: "closed", outcome: proxy.OutcomeClosed}},
		"the ledger is away":                {set: claimFails, want: want{status: 503, code: "ledger_unavailable", retry: true, outcome: proxy.OutcomeUnavailable}},
		"a result that cannot be opened":    {set: claimSealed, want: want{status: 503, code: "ledger_unavailable", retry: true, outcome: proxy.OutcomeUnavailable}},
		"a decision that there is none of":  {set: decided(dedupe.Decision{}), want: want{status: 503, code: "ledger_unavailable", retry: true, outcome: proxy.OutcomeUnavailable}},
		"queued while configured otherwise": {set: decided(dedupe.Decision{Kind: dedupe.AlreadyQueued}), want: inFlight},
		"accepted":                          {set: decided(dedupe.Decision{Kind: dedupe.AlreadyQueued}), route: accepting, want: want{status: 202, receipt: "queued", body: "thanks", outcome: proxy.OutcomeQueued}},
		"accepted and dead":                 {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter, LastStatus: 500, Kept: true}), route: accepting, want: want{status: 202, receipt: "dead", body: "thanks", outcome: proxy.OutcomeDead}},
		"dead with a net":                   {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter, LastStatus: 500, Kept: true}), route: withNet, want: want{status: 202, receipt: "dead", body: "thanks", outcome: proxy.OutcomeDead}},
		"dead with a net, its bytes lost":   {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter}), route: withNet, want: want{status: 503, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"dead, its bytes lost, now accept":  {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter}), route: accepting, want: want{status: 503, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"dead and kept, forward":            {set: decided(dedupe.Decision{Kind: dedupe.DeadLetter, Kept: true}), want: want{status: 503, receipt: "dead", code: "dead_letter", outcome: proxy.OutcomeDead}},
		"accepted while paused":             {set: decided(dedupe.Decision{Kind: dedupe.AlreadyQueued}), route: func(r *proxy.Route) { accepting(r); r.Paused = true }, want: want{status: 202, receipt: "queued", body: "thanks", outcome: proxy.OutcomeQueued}},
		"failed with a net":                 {set: results(answered(500, "not now")), route: withNet, want: want{status: 202, receipt: "queued", body: "thanks", outcome: proxy.OutcomeQueued}},
		"in doubt with a net and quarantine": {
			set:   results(delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut}),
			route: func(r *proxy.Route) { withNet(r); r.Policy.InDoubt = dedupe.Quarantine },
			want:  want{status: 504, receipt: "dead", code: "upstream_timeout", outcome: proxy.OutcomeDead},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) {
				if c.route != nil {
					c.route(r)
				}
			})
			if c.set != nil {
				c.set(e)
			}
			answer, body := e.post(t, "{}")
			c.want.check(t, answer, body, e.watch.next(t))
		})
	}
}

// What came of an attempt whose claim was lost is told in the log, since it is stored nowhere.
func TestALateResultIsToldInTheRecord(t *testing.T) {
	for name, c := range map[string]struct {
		result delivery.Result
		settle error
		lost   [2]int // attempt and status
	}{
		"answered late":  {answered(200, "late"), dedupe.ErrClaimLost, [2]int{1, 200}},
		"failed late":    {answered(500, "late"), dedupe.ErrClaimLost, [2]int{1, 500}},
		"no answer":      {delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut}, dedupe.ErrClaimLost, [2]int{1, 0}},
		"in time":        {answered(200, "done"), nil, [2]int{}},
		"not recordable": {answered(200, "done"), errors.New("down"), [2]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(*proxy.Config, *proxy.Route) {})
			results(c.result)(e)
			e.ledger.settle = func(context.Context, dedupe.Settlement) error { return c.settle }
			e.ledger.look = func() (dedupe.Decision, error) { return dedupe.Decision{Kind: dedupe.InFlight, Attempt: 2}, nil }
			e.post(t, "{}")
			if r := e.watch.next(t); r.LostAttempt != c.lost[0] || r.LostStatus != c.lost[1] {
				t.Errorf("lost attempt %d with status %d, want %v", r.LostAttempt, r.LostStatus, c.lost)
			}
		})
	}
}

func accepting(r *proxy.Route) {
	r.Accept, r.Acknowledge = true, proxy.Acknowledgement{Status: 202, Body: "thanks", ContentType: "text/plain"}
}

func withNet(r *proxy.Route) {
	accepting(r)
	r.Accept, r.Policy.OnFailure = false, dedupe.Queue
}

func replayConflict(r *proxy.Route) { r.ReplayConflict = true }

func claimSealed(e *edge) {
	e.ledger.claim = func(r dedupe.Request) (dedupe.Decision, error) {
		why := &dedupe.SealedError{Key: dedupe.Key{Scope: r.Scope, EventID: r.EventID}, KeyID: dedupe.KeyID{0xab}}
		return dedupe.Decision{}, fmt.Errorf("claim: %w", why)
	}
}

// A result that cannot be opened is refused at once, and the record names the event by its reference and the key by its ID.
func TestASealedResultIsRefusedAtOnce(t *testing.T) {
	e := newEdge(t, nil)
	claimSealed(e)
	e.post(t, "{}")
	record := e.watch.next(t)
	if record.Reason != "unsealable" || record.Err == nil || !strings.Contains(record.Err.Error(), "key ab00000000000000") ||
		!strings.Contains(record.Err.Error(), "event "+record.Reference) {
		t.Errorf("recorded %+v", record)
	}
	if asked := e.ledger.asked(); asked != 1 {
		t.Errorf("the ledger was asked %d times", asked)
	}
}

func claimFails(e *edge) {
	e.ledger.claim = func(dedupe.Request) (dedupe.Decision, error) { return dedupe.Decision{}, errors.New("down") }
}

// What is refused before the claim is refused in the contract's order, and never reaches the ledger.
func TestRefusalsInTheirOrder(t *testing.T) {
	type step struct {
		name string
		set  func(*edge, *proxy.Route)
		want want
	}
	// From the last check to the first: each step adds the fault that an earlier check must see before the others.
	steps := []step{
		{"paused", func(_ *edge, r *proxy.Route) { r.Paused = true }, want{status: 503, code: "paused", retry: true, outcome: proxy.OutcomeUnavailable}},
		{"event", func(e *edge, _ *proxy.Route) {
			e.verifier.err = &verify.Rejection{Reason: "event_id_missing", Event: true}
		}, want{status: 400, code: "event_invalid", outcome: proxy.OutcomeInvalid}},
		{"disabled", func(_ *edge, r *proxy.Route) { r.Enabled = false }, want{status: 403, code: "account_disabled", outcome: proxy.OutcomeDisabled}},
		{"signature", func(e *edge, _ *proxy.Route) { e.verifier.err = &verify.Rejection{Reason: "mismatch"} }, want{status: 401, code: "signature_rejected", outcome: proxy.OutcomeRejected}},
		{"no header", func(e *edge, _ *proxy.Route) { e.verifier.presented = false }, want{status: 401, code: "signature_rejected", outcome: proxy.OutcomeRejected}},
		{"no credential", func(e *edge, _ *proxy.Route) { e.verifier.live = false }, want{status: 503, code: "no_live_credential", retry: true, outcome: proxy.OutcomeUnavailable}},
		{"size", func(_ *edge, r *proxy.Route) { r.MaxBody = 1 }, want{status: 413, code: "body_too_large", outcome: proxy.OutcomeInvalid}},
		{"method", func(_ *edge, r *proxy.Route) { r.Methods = []string{"PUT"} }, want{status: 405, code: "method_not_allowed", outcome: proxy.OutcomeInvalid}},
	}
	for i, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			var route proxy.Route
			e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { route = *r })
			route.Verifier = e.verifier
			for _, fault := range steps[:i+1] {
				fault.set(e, &route)
			}
			if err := e.Serve([]proxy.Route{route}); err != nil {
				t.Fatal(err)
			}
			answer, body := e.post(t, "{}")
			s.want.check(t, answer, body, e.watch.next(t))
			if e.ledger.asked() > 0 || len(e.app.seen()) > 0 {
				t.Error("a refused delivery went on")
			}
		})
	}
}

func TestSignatureRefusalsAreAlike(t *testing.T) {
	var bodies []string
	for _, set := range []func(*edge){
		func(e *edge) { e.verifier.presented = false },
		func(e *edge) { e.verifier.err = &verify.Rejection{Reason: "stale"} },
		func(e *edge) { e.verifier.err = &verify.Rejection{Reason: "mismatch", Hint: "the secret is hex"} },
	} {
		e := newEdge(t, nil)
		set(e)
		_, body := e.post(t, "{}")
		bodies = append(bodies, body)
	}
	if bodies[0] != bodies[1] || bodies[1] != bodies[2] {
		t.Errorf("the answers tell why: %q", bodies)
	}
}

// A sender that does not take its answer is given up; one that does gets all of it, and its connection goes on.
func TestALargeAnswerIsNotHeldForEver(t *testing.T) {
	large := strings.Repeat("x", 32<<20)
	forward := func(context.Context, upstream.Attempt) delivery.Result { return answered(200, large) }
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) { c.AnswerTime = 50 * time.Millisecond })
	e.app.forward = forward
	conn, err := net.Dial("tcp", e.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST "+hook+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	if record := e.watch.next(t); record.Outcome != proxy.OutcomeApplied {
		t.Errorf("recorded %v", record.Outcome)
	}
	patient := newEdge(t, nil)
	patient.app.forward = forward
	for range 2 {
		if _, body := patient.post(t, "{}"); body != large {
			t.Errorf("%d bytes arrived", len(body))
		}
	}
}

// A duplicate is a delivery that changed nothing: not the one that was stored, nor one that runs, nor another content.
func TestDuplicatesAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		decision  dedupe.Decision
		duplicate bool
	}{
		"first":            {dedupe.Decision{Kind: dedupe.Fresh, Claim: dedupe.Claim{Attempt: 1}}, false},
		"runs again":       {dedupe.Decision{Kind: dedupe.Fresh, Claim: dedupe.Claim{Attempt: 2}}, false},
		"stored":           {dedupe.Decision{Kind: dedupe.AlreadyQueued, First: true}, false},
		"stored before":    {dedupe.Decision{Kind: dedupe.AlreadyQueued}, true},
		"applied":          {dedupe.Decision{Kind: dedupe.Replay, Response: kept()}, true},
		"under another ID": {dedupe.Decision{Kind: dedupe.SuspectReplay, Response: kept()}, true},
		"in flight":        {dedupe.Decision{Kind: dedupe.InFlight}, true},
		"dead":             {dedupe.Decision{Kind: dedupe.DeadLetter}, true},
		"closed":           {dedupe.Decision{Kind: dedupe.Ended}, true},
		"other content":    {dedupe.Decision{Kind: dedupe.Conflict}, false},
	} {
		e := newEdge(t, nil)
		decided(c.decision)(e)
		e.post(t, "{}")
		if record := e.watch.next(t); record.Duplicate != c.duplicate {
			t.Errorf("%s: duplicate is %t", name, record.Duplicate)
		}
	}
	e := newEdge(t, nil)
	e.ledger.settle = func(context.Context, dedupe.Settlement) error { return dedupe.ErrClaimLost }
	e.ledger.look = func() (dedupe.Decision, error) { return dedupe.Decision{Kind: dedupe.Replay, Response: kept()}, nil }
	e.post(t, "{}")
	if record := e.watch.next(t); record.Duplicate || record.LostAttempt == 0 {
		t.Errorf("a delivery that ran is told as %+v", record)
	}
}

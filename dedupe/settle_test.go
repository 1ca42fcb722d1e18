package dedupe

import (
	"net/http"
	"reflect"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

func answered200(status int, header http.Header, body string) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{Status: status, Header: header, Body: []byte(body)}}
}

func TestPolicySettle(t *testing.T) {
	kept := &Job{Method: "POST"}
	notSent := delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable}
	slow := delivery.Result{Outcome: delivery.NotSent, Cause: delivery.TimedOut}
	timeout := delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut}
	cut := delivery.Result{Outcome: delivery.Unknown, Cause: delivery.Incomplete}
	quarantine := func(p *Policy) { p.InDoubt = Quarantine }
	limited := func(p *Policy) { p.Limit.MaxAttempts = 2 }
	aged := func(p *Policy) { p.Limit.MaxAge = time.Hour }
	queue := func(p *Policy) { p.OnFailure = Queue }
	for _, c := range []struct {
		name   string
		result delivery.Result
		policy func(*Policy)
		to     State
		reason Reason
		counts bool
		job    bool
	}{
		{"200", answered200(200, nil, ""), nil, Applied, NoReason, true, false},
		{"299", answered200(299, nil, ""), nil, Applied, NoReason, true, false},
		{"199", answered200(199, nil, ""), nil, Retryable, NotFinal, true, false},
		{"302", answered200(302, nil, ""), nil, Retryable, NotFinal, true, false},
		{"401", answered200(401, nil, ""), nil, Retryable, NotFinal, true, false},
		{"404", answered200(404, nil, ""), nil, Retryable, NotFinal, true, false},
		{"429", answered200(429, nil, ""), nil, Retryable, NotFinal, true, false},
		{"500", answered200(500, nil, ""), nil, Retryable, NotFinal, true, false},
		{"a 404 that is final", answered200(404, nil, ""), func(p *Policy) { p.Record.Final = func(s int) bool { return s == 404 } }, Applied, NoReason, true, false},
		{"a 200 that is not", answered200(200, nil, ""), func(p *Policy) { p.Record.Final = func(s int) bool { return s == 404 } }, Retryable, NotFinal, true, false},
		{"rejected", answered200(422, nil, ""), func(p *Policy) { p.Record.Rejected = func(s int) bool { return s == 422 } }, Dead, Rejected, true, true},
		{"rejected, but final", answered200(200, nil, ""), func(p *Policy) { p.Record.Rejected = func(int) bool { return true } }, Applied, NoReason, true, false},
		{"not sent", notSent, nil, Retryable, Unreachable, false, false},
		{"not connected in time", slow, nil, Retryable, Unreachable, false, false},
		{"not sent, quarantine", notSent, quarantine, Retryable, Unreachable, false, false},
		{"not sent, last attempt", notSent, limited, Retryable, Unreachable, false, false},
		{"not sent, too old", notSent, aged, Dead, MaxAge, false, true},
		{"timeout", timeout, nil, Retryable, TimedOut, true, false},
		{"cut off", cut, nil, Retryable, Incomplete, true, false},
		{"timeout, quarantine", timeout, quarantine, Dead, Quarantined, true, true},
		{"timeout, last attempt", timeout, limited, Dead, MaxAttempts, true, true},
		{"500, last attempt", answered200(500, nil, ""), limited, Dead, MaxAttempts, true, true},
		{"200, last attempt, too old", answered200(200, nil, ""), func(p *Policy) { limited(p); aged(p) }, Applied, NoReason, true, false},
		{"500, too old", answered200(500, nil, ""), aged, Dead, MaxAge, true, true},
		{"500, queue", answered200(500, nil, ""), queue, Queued, NotFinal, true, true},
		{"not sent, queue", notSent, queue, Queued, Unreachable, false, true},
		{"timeout, queue", timeout, queue, Queued, TimedOut, true, true},
		{"timeout, queue, quarantine", timeout, func(p *Policy) { queue(p); quarantine(p) }, Dead, Quarantined, true, true},
		{"500, queue, last attempt", answered200(500, nil, ""), func(p *Policy) { queue(p); limited(p) }, Dead, MaxAttempts, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Policy{Lease: time.Minute, Retention: Retention{Receipt: 7 * time.Hour, DeadLetter: 30 * time.Hour}}
			if c.policy != nil {
				c.policy(&p)
			}
			got := p.Settle(Claim{Attempt: 2, Age: 59 * time.Minute}, c.result, time.Minute, func() *Job { return kept })
			if got.To != c.to || got.Reason != c.reason || got.Counts != c.counts || (got.Job == kept) != c.job {
				t.Errorf("settled %+v", got)
			}
			lifetimes(t, p, got)
			if answer := c.result.Outcome == delivery.Answered; (got.Response != nil) != answer || answer && got.Response.Status != c.result.Response.Status {
				t.Errorf("response %+v", got.Response)
			}
		})
	}
}

func lifetimes(t *testing.T, p Policy, s Settlement) {
	t.Helper()
	finished := s.To == Applied || s.To == Retryable
	if finished && s.Expires != p.Retention.Receipt || !finished && s.Expires != 0 {
		t.Errorf("%s expires after %v", s.To, s.Expires)
	}
	if (s.To == Dead) != (s.JobFor == p.Retention.DeadLetter) {
		t.Errorf("the request of %s is kept for %v", s.To, s.JobFor)
	}
	if s.To != Queued && s.After != 0 {
		t.Errorf("%s waits %v", s.To, s.After)
	}
}

func TestRecordKeeps(t *testing.T) {
	header := http.Header{
		"Content-Type": {"text/plain"}, "Location": {"/1", "/2"}, "Set-Cookie": {"secret=1"}, "Date": {"today"},
		"Content-Length": {"3"}, "Connection": {"keep-alive, x-hop"}, "X-Hop": {"1"}, "Content-Encoding": {"gzip"},
	}
	record := Record{Headers: []string{"content-type", "Location", "ETag", "Connection", "Content-Length", "X-Hop"}, MaxBody: 3}
	for _, c := range []struct {
		name   string
		answer delivery.Response
		want   delivery.Response
	}{
		{"a small body", delivery.Response{Status: 200, Header: header, Body: []byte("abc")}, delivery.Response{
			Status: 200, Body: []byte("abc"),
			Header: http.Header{"Content-Type": {"text/plain"}, "Location": {"/1", "/2"}, "Content-Encoding": {"gzip"}}}},
		{"a large body", delivery.Response{Status: 200, Header: header, Body: []byte("abcd")}, delivery.Response{
			Status: 200, Omitted: true, Header: http.Header{"Content-Type": {"text/plain"}, "Location": {"/1", "/2"}}}},
		{"no body", delivery.Response{Status: 204, Header: header}, delivery.Response{
			Status: 204, Header: http.Header{"Content-Type": {"text/plain"}, "Location": {"/1", "/2"}}}},
		{"a body that was not read", delivery.Response{Status: 200, Omitted: true}, delivery.Response{
			Status: 200, Omitted: true, Header: http.Header{}}},
	} {
		if got := record.keep(&c.answer); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: kept %+v, want %+v", c.name, *got, c.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	most := Backoff{Initial: 5 * time.Second, Max: time.Minute, Jitter: func() float64 { return 1 }}
	for attempt, want := range map[int]time.Duration{0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 5: time.Minute, 1 << 40: time.Minute} {
		if got := most.after(attempt); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
	for age, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 20 * time.Second: 10 * time.Second, 72 * time.Hour: time.Minute} {
		if got := most.since(age); got != want {
			t.Errorf("since %v: %v, want %v", age, got, want)
		}
	}
	none := most
	none.Jitter = func() float64 { return 0 }
	if got := none.after(9); got != 0 {
		t.Errorf("full jitter is %v", got)
	}
	if got := (Backoff{}).after(1); got < 0 || got >= defaultInitial {
		t.Errorf("the default waits %v", got)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	b := Backoff{Initial: time.Second, Max: time.Minute, Jitter: func() float64 { return 0 }}
	date := "Mon, 30 Nov 2026 12:00:00 GMT"
	for text, want := range map[string]time.Duration{
		"3": 3 * time.Second, " 3 ": 3 * time.Second, "0": 0, "-1": 0, "+1": 0, "": 0, "soon": 0, "1e3": 0, "3600": time.Minute,
		"2147483648": time.Minute, "9999999999": time.Minute, "99999999999999999999999": time.Minute, "99999999999999999999999s": 0,
		"Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second, "Mon, 30 Nov 2026 11:00:00 GMT": 0, "Tue, 30 Nov 2027 11:00:00 GMT": time.Minute,
	} {
		header := http.Header{"Retry-After": {text}, "Date": {date}}
		p := Policy{OnFailure: Queue, Backoff: b}
		if got := p.Settle(Claim{Attempt: 1}, answered200(503, header, ""), 0, nil).After; got != want {
			t.Errorf("Retry-After %q waits %v, want %v", text, got, want)
		}
	}
}

// A date in an answer that has no date of its own, or none that can be read, is one of this machine's clock.
func TestRetryAfterWithoutADate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{Max: time.Minute}
		for name, date := range map[string][]string{"none": nil, "unreadable": {"today"}} {
			for in, want := range map[time.Duration]time.Duration{30 * time.Second: 30 * time.Second, time.Hour: time.Minute, -time.Hour: 0} {
				asks := time.Now().Add(in).UTC().Format(http.TimeFormat)
				if got := b.asked(&delivery.Response{Header: http.Header{"Retry-After": {asks}, "Date": date}}); got != want {
					t.Errorf("%s: %v from now waits %v, want %v", name, in, got, want)
				}
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Mon, 30 Nov 2026 12:00:30 GMT", "Mon, 30 Nov 2026 12:00:00 GMT")
	f.Fuzz(func(t *testing.T, text, date string) {
		if got := retryAfter(http.Header{"Retry-After": {text}, "Date": {date}}); got < 0 {
			t.Errorf("%q waits %v", text, got)
		}
	})
}

func TestEveryResultSettlesToAStateThatItsPolicyAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{
			InDoubt:   rapid.SampledFrom([]InDoubt{Retry, Quarantine}).Draw(t, "in doubt"),
			OnFailure: rapid.SampledFrom([]OnFailure{Respond, Queue}).Draw(t, "on failure"),
			Limit:     Limit{MaxAttempts: rapid.IntRange(0, 3).Draw(t, "max attempts"), MaxAge: time.Duration(rapid.IntRange(0, 100).Draw(t, "max age"))},
		}
		result := delivery.Result{Outcome: rapid.SampledFrom([]delivery.Outcome{delivery.NotSent, delivery.Unknown, delivery.Answered}).Draw(t, "outcome")}
		if result.Outcome == delivery.Answered {
			result.Response.Status = rapid.IntRange(101, 599).Draw(t, "status")
			result.Response.Header = http.Header{"Retry-After": {strconv.Itoa(rapid.IntRange(-1, 1e6).Draw(t, "retry after"))}}
		}
		c := Claim{Kept: rapid.Bool().Draw(t, "kept"), Attempt: rapid.IntRange(1, 5).Draw(t, "attempt"), Age: time.Duration(rapid.IntRange(0, 100).Draw(t, "age"))}
		s := p.Settle(c, result, time.Duration(rapid.IntRange(-5, 50).Draw(t, "elapsed")), func() *Job { return &Job{} })
		switch {
		case s.To == Retryable && (p.OnFailure == Queue || c.Kept), s.To == Queued && p.OnFailure == Respond && !c.Kept:
			t.Fatalf("settled to %s", s.To)
		case s.Counts != (result.Outcome != delivery.NotSent):
			t.Fatalf("counts: %v", s.Counts)
		case s.To == Dead && !s.Counts && s.Reason != MaxAge:
			t.Fatalf("an attempt that was not sent is dead by %s", s.Reason)
		case s.To == Queued && (s.Job == nil || s.After < 0 || s.After > time.Hour):
			t.Fatalf("queued %+v", s)
		case s.To == Applied && s.Response.Header == nil:
			t.Fatal("a record without a header")
		case s.move(c).Attempt != c.Attempt && s.Counts:
			t.Fatalf("attempt %d", s.move(c).Attempt)
		}
	})
}

package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

func TestAttemptCarriesTheEvent(t *testing.T) {
	e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.KeyScoped, r.KeyHeader = true, "X-Key" })
	e.ledger.claim = func(r dedupe.Request) (dedupe.Decision, error) {
		d := fresh(r)
		d.Claim.Attempt, d.Claim.EventID = 3, "evt-of-the-receipt"
		return d, nil
	}
	e.post(t, `{"a":1}`)
	a := e.app.seen()[0]
	if a.KeyHeader != "X-Key" || a.KeyValue != "acme/orders/evt-of-the-receipt" || a.Number != 3 || a.Scope != scope ||
		a.EventType != "order.paid" || a.TraceParent != "00-trace" || a.Timeout > time.Second || a.Timeout <= 0 {
		t.Errorf("attempt %+v", a)
	}
	if d := a.Delivery; string(d.Body) != `{"a":1}` || d.Target != hook || d.Method != "POST" || d.Peer != "127.0.0.1" {
		t.Errorf("delivery %+v", d)
	}
}

// A claim that took the whole lease leaves no time for an attempt: the application is not bothered, and the number of
// the attempt is given back.
func TestClaimThatCameTooLateIsNotSent(t *testing.T) {
	e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.Policy.Lease = time.Millisecond })
	answer, _ := e.post(t, "{}")
	if answer.StatusCode != http.StatusGatewayTimeout || len(e.app.seen()) != 0 {
		t.Errorf("status %d, %d attempts", answer.StatusCode, len(e.app.seen()))
	}
	if s := e.ledger.settled[0]; s.Counts || s.To != dedupe.Retryable {
		t.Errorf("settled as %+v", s)
	}
}

// The sender goes away while the application works: the result is recorded all the same.
func TestSenderThatHangsUpChangesNothing(t *testing.T) {
	e := newEdge(t, nil)
	arrived, release := make(chan struct{}), make(chan struct{})
	settled := make(chan error, 1)
	e.app.forward = func(context.Context, upstream.Attempt) delivery.Result {
		close(arrived)
		<-release
		return answered(200, "done")
	}
	e.ledger.settle = func(ctx context.Context, s dedupe.Settlement) error {
		settled <- ctx.Err()
		return nil
	}
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, e.server.URL+hook, strings.NewReader("{}"))
		if answer, err := e.server.Client().Do(request); err == nil {
			answer.Body.Close()
		}
	}()
	<-arrived
	hangUp()
	<-gone
	close(release)
	if err := <-settled; err != nil {
		t.Errorf("settled on a context that had ended: %v", err)
	}
	if r := e.watch.next(t); r.Outcome != proxy.OutcomeApplied {
		t.Errorf("recorded as %s", r.Outcome)
	}
}

func TestDuplicateWaitsForTheRunningAttempt(t *testing.T) {
	e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.DuplicateWait = time.Minute })
	var asked atomic.Int32
	e.ledger.claim = func(dedupe.Request) (dedupe.Decision, error) {
		if asked.Add(1) < 3 {
			return dedupe.Decision{Kind: dedupe.InFlight, LeaseLeft: time.Minute}, nil
		}
		return dedupe.Decision{Kind: dedupe.Replay, Response: kept()}, nil
	}
	answer, body := e.post(t, "{}")
	if answer.StatusCode != 201 || body != "kept" {
		t.Errorf("status %d, body %q", answer.StatusCode, body)
	}
}

// A duplicate waits to the end of its time, and looks once more then.
func TestADuplicateWaitsAsLongAsItMay(t *testing.T) {
	for _, wait := range []time.Duration{time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond} {
		e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.DuplicateWait = wait })
		var first, last time.Time
		e.ledger.claim = func(dedupe.Request) (dedupe.Decision, error) {
			if last = time.Now(); first.IsZero() {
				first = last
			}
			return dedupe.Decision{Kind: dedupe.InFlight, LeaseLeft: time.Minute}, nil
		}
		answer, _ := e.post(t, "{}")
		if waited := last.Sub(first); answer.StatusCode != 503 || waited < wait-10*time.Millisecond {
			t.Errorf("%v: status %d, last asked after %v", wait, answer.StatusCode, waited)
		}
	}
}

func TestControlMessages(t *testing.T) {
	e := newEdge(t, nil)
	e.verifier.proof.Control = &verify.Control{Name: "challenge", Answer: &delivery.Response{
		Status: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("token"),
	}}
	answer, body := e.post(t, "ping")
	if answer.StatusCode != 200 || body != "token" || answer.Header.Get("Sidecar-Receipt") != "" {
		t.Errorf("answered %d %q %v", answer.StatusCode, body, answer.Header)
	}
	e.verifier.proof.Control = &verify.Control{Name: "challenge"}
	if _, body := e.post(t, "ping"); body != "passed "+hook+" ping" {
		t.Errorf("passed on as %q", body)
	}
	if e.ledger.asked() != 0 {
		t.Error("a control message was claimed")
	}
}

// Who asks for another protocol on a guarded route, with a message that nobody signed, gets none; and what only the
// sidecar says there is not taken from anybody.
func TestAControlMessagePassesWithoutWhatIsOursOrTheConnections(t *testing.T) {
	passed := make(chan http.Header, 1)
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) {
		c.Passthrough = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { passed <- r.Header })
	})
	e.verifier.proof.Control = &verify.Control{Name: "challenge"}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.server.URL+hook, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"Upgrade", "Te", "X-Hop", "Idempotency-Key", "IDEMPOTENCY_key", "Traceparent", "trace-parent", "tracestate", "Baggage",
		"Sidecar-Scope", "sidecar_attempt", "Accept-Encoding", "X-HTTP-Method-Override", "x_http_method", "X-Method-Override", "X-Kept",
	} {
		request.Header[name] = []string{"evil"}
	}
	request.Header.Set("Connection", "Upgrade, X-Hop")
	answer, err := e.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	got := <-passed
	for _, expected := range []string{"X-Kept", "Trace-Parent"} {
		if got.Get(expected) != "evil" {
			t.Errorf("%s did not pass", expected)
		}
		got.Del(expected)
	}
	got.Del("User-Agent")
	got.Del("Content-Length")
	if len(got) > 0 {
		t.Errorf("passed with %v", got)
	}
}

// A control message belongs to a route: it reaches the application also where nothing else passes.
func TestControlMessagesPassWhereNothingElseDoes(t *testing.T) {
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) { c.RoutesOnly = true })
	e.verifier.proof.Control = &verify.Control{Name: "challenge"}
	if _, body := e.post(t, "ping"); body != "passed "+hook+" ping" {
		t.Errorf("passed on as %q", body)
	}
	if answer, _ := e.send(t, "GET", "/open", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("an open path: status %d", answer.StatusCode)
	}
}

func TestAnswersNeverCarryOurNamesFromTheApplication(t *testing.T) {
	e := newEdge(t, nil)
	e.app.forward = func(context.Context, upstream.Attempt) delivery.Result {
		r := answered(200, "x")
		r.Response.Header.Set("Sidecar-Receipt", "replayed")
		r.Response.Header.Set("Sidecar-Other", "1")
		r.Response.Header.Set("Idempotent-Replayed", "true")
		r.Response.Header["sidecar_receipt"] = []string{"replayed"}
		r.Response.Header["Idempotent_replayed"] = []string{"true"}
		return r
	}
	answer, _ := e.post(t, "{}")
	if answer.Header.Get("Sidecar-Receipt") != "applied" || answer.Header.Get("Sidecar-Other") != "" || answer.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("headers %v", answer.Header)
	}
}

func TestARemovedRouteStaysClosed(t *testing.T) {
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) { c.Guard = nil })
	if err := e.Serve(nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also after another reload
		if answer, _ := e.post(t, "{}"); answer.StatusCode != http.StatusNotFound {
			t.Errorf("status %d, want 404", answer.StatusCode)
		}
		if err := e.Serve([]proxy.Route{{Scope: "a/b", Path: "/other"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, body := e.send(t, "GET", "/open", nil); !strings.HasPrefix(body, "passed") {
		t.Errorf("an open path: %q", body)
	}
}

func TestTwoRoutesOnOnePathAreRefused(t *testing.T) {
	e := newEdge(t, nil)
	if err := e.Serve([]proxy.Route{{Path: "/a"}, {Path: "/a"}}); err == nil {
		t.Error("two routes on one path were taken")
	}
	if answer, _ := e.post(t, "{}"); answer.StatusCode != 200 {
		t.Errorf("the set in force has changed: status %d", answer.StatusCode)
	}
}

// raw sends bytes and returns the answer, without closing or ending what it sent.
func raw(t *testing.T, e *edge, text string) *http.Response {
	t.Helper()
	return nextAnswer(t, sent(t, e, text))
}

// sent is where the answers to a text come.
func sent(t *testing.T, e *edge, text string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", e.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if half, ok := conn.(*net.TCPConn); ok && strings.HasSuffix(text, "CUT") {
		half.CloseWrite()
	}
	return bufio.NewReader(conn)
}

func nextAnswer(t *testing.T, reader *bufio.Reader) *http.Response {
	t.Helper()
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func TestBodies(t *testing.T) {
	limited := func(c *proxy.Config, r *proxy.Route) { r.MaxBody, c.BodyTimeout = 1000, 200*time.Millisecond }
	head := "POST " + hook + " HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		text   string
		status int
		code   string
	}{
		"announced too large, never sent":  {head + "Content-Length: 1000000000\r\n\r\n", 413, "body_too_large"},
		"chunked too large":                {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(600) + chunk(600), 413, "body_too_large"},
		"chunked, exactly the limit":       {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(1000) + "0\r\n\r\n", 200, ""},
		"exactly the limit":                {head + "Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000), 200, ""},
		"shorter than announced":           {head + "Content-Length: 10\r\n\r\n{}CUT", 400, "body_incomplete"},
		"slower than the patience":         {head + "Content-Length: 10\r\n\r\n{}", 400, "body_incomplete"},
		"broken chunk":                     {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "body_incomplete"},
		"chunks that never end":            {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(5), 400, "body_incomplete"},
		"chunks with half an end":          {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(5) + "0\r\n\n", 400, "body_incomplete"},
		"trailer with half an end":         {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(5) + "0\r\nX-T: 1\n\r\n", 400, "body_incomplete"},
		"half an end, and a whole request": {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(5) + "0\r\n\nGET / HTTP/1.1\nHost: x\n\n", 400, "body_incomplete"},
		"expecting 100, too large":         {head + "Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n", 413, "body_too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, limited)
			answer := raw(t, e, c.text)
			body, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != c.status || problemCode(answer, string(body)) != c.code {
				t.Errorf("%d %s, want %d %s", answer.StatusCode, body, c.status, c.code)
			}
			if c.status != 200 && e.ledger.asked() > 0 {
				t.Error("it was claimed")
			}
		})
	}
}

func chunk(n int) string { return fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("x", n)) }

// A sender that only reads when it has sent everything must find the answer, not a reset.
func TestRefusalReachesASenderThatIsStillSending(t *testing.T) {
	e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.MaxBody = 1000 })
	const size = 24 << 20
	chunks := strings.Repeat(chunk(1<<20), size>>20)
	for name, text := range map[string]string{
		"announced":              fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size)),
		"in chunks":              "Transfer-Encoding: chunked\r\n\r\n" + chunks,
		"in chunks, after a 100": "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
	} {
		reader := sent(t, e, "POST "+hook+" HTTP/1.1\r\nHost: x\r\n"+text)
		answer := nextAnswer(t, reader)
		if answer.StatusCode == http.StatusContinue {
			answer = nextAnswer(t, reader)
		}
		if answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
	}
}

func TestUnsignedDeliveryIsAnsweredBeforeItsBody(t *testing.T) {
	e := newEdge(t, nil)
	e.verifier.presented = false
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		answer := raw(t, e, "POST "+hook+" HTTP/1.1\r\nHost: x\r\n"+expect+"Content-Length: 100\r\n\r\n")
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d, want 401 as the first answer", answer.StatusCode)
		}
	}
}

func TestBudgetIsSharedFairly(t *testing.T) {
	const total = 400
	held, release := make(chan struct{}), make(chan struct{})
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) { c.Budget = total })
	e.app.forward = func(context.Context, upstream.Attempt) delivery.Result {
		held <- struct{}{}
		<-release
		return answered(200, "")
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		e.post(t, strings.Repeat("x", 60))
	}()
	<-held
	answer, body := e.post(t, strings.Repeat("x", 60)) // over a quarter together
	want{status: 503, code: "overloaded", retry: true, outcome: proxy.OutcomeUnavailable}.check(t, answer, body, e.watch.next(t))
	close(release)
	<-first
	go func() { <-held }()
	if answer, _ := e.post(t, strings.Repeat("x", 60)); answer.StatusCode != 200 {
		t.Errorf("after the release: status %d", answer.StatusCode)
	}
}

// A body that is refused holds nothing any more, however long its sender goes on sending it.
func TestARefusedBodyGivesItsRoomBack(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"over the budget": {"Content-Length: 1000\r\n\r\n" + strings.Repeat("x", 150), 503},
		"over the limit":  {"Transfer-Encoding: chunked\r\n\r\n" + chunk(60) + chunk(60), 413},
	} {
		e := newEdge(t, func(c *proxy.Config, r *proxy.Route) { c.Budget, r.MaxBody = 400, 1000 })
		if c.status == http.StatusRequestEntityTooLarge {
			e = newEdge(t, func(c *proxy.Config, r *proxy.Route) { c.Budget, r.MaxBody = 400, 80 })
		}
		if answer := raw(t, e, "POST "+hook+" HTTP/1.1\r\nHost: x\r\n"+c.text); answer.StatusCode != c.status {
			t.Errorf("%s: status %d", name, answer.StatusCode)
		}
		if answer, _ := e.post(t, strings.Repeat("x", 60)); answer.StatusCode != 200 {
			t.Errorf("%s: status %d for the next one", name, answer.StatusCode)
		}
	}
}

// What is over the limit is refused when it is, also in the middle of a chunk whose rest does not come.
func TestAChunkOverTheLimitIsNotWaitedFor(t *testing.T) {
	for _, before := range []string{"", chunk(100)} {
		for limit, sent := range map[int64]int{100: 101, 1000: 1200, 40 << 10: 60 << 10} {
			e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.MaxBody = limit })
			answer := raw(t, e, "POST "+hook+" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+before+"fffff\r\n"+strings.Repeat("x", sent))
			if answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%d of %d bytes: status %d", sent, limit, answer.StatusCode)
			}
		}
	}
}

// What an attempt holds of the application's answer is of the same budget, until the sender has it.
func TestAnswersAreOfTheBudget(t *testing.T) {
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) { c.Budget = 400 })
	e.app.forward = func(_ context.Context, a upstream.Attempt) delivery.Result {
		if !a.Hold(50) || a.Hold(50) || !a.Hold(40) {
			return answered(500, "other room than a quarter less the body")
		}
		return answered(200, "done")
	}
	for range 3 {
		if answer, body := e.post(t, "1234567890"); answer.StatusCode != 200 {
			t.Errorf("status %d: %s", answer.StatusCode, body)
		}
	}
}

// An answer without its body does not describe one.
func TestAnOmittedBodyIsNotDescribed(t *testing.T) {
	described := http.Header{
		"Content-Encoding": {"gzip"}, "Digest": {"sha-256=x"}, "Content-Digest": {"sha-256=:x:"}, "Content-Md5": {"x"},
		"Etag": {`"1"`}, "Content-Type": {"application/json"},
	}
	e := newEdge(t, nil)
	e.app.forward = func(context.Context, upstream.Attempt) delivery.Result {
		return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{Status: 200, Header: described, Omitted: true}}
	}
	fresh, _ := e.post(t, "{}")
	decided(dedupe.Decision{Kind: dedupe.Replay, Response: &delivery.Response{Status: 200, Header: described, Omitted: true}})(e)
	replayed, _ := e.post(t, "{}")
	for _, answer := range []*http.Response{fresh, replayed} {
		for name := range described {
			if want := name == "Etag" || name == "Content-Type"; (answer.Header.Get(name) != "") != want {
				t.Errorf("%s: %s is %q", answer.Header.Get("Sidecar-Receipt"), name, answer.Header.Get(name))
			}
		}
		if answer.Header.Get("Sidecar-Body") != "omitted" || answer.ContentLength != 0 {
			t.Errorf("header %v, length %d", answer.Header, answer.ContentLength)
		}
	}
}

// An answer to HEAD has the length that the application says, and no other answer has.
func TestAnAnswerToHeadKeepsItsLength(t *testing.T) {
	e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.Methods = []string{"HEAD", "POST"} })
	e.app.forward = func(_ context.Context, a upstream.Attempt) delivery.Result {
		return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{
			Status: 200, Header: http.Header{"Content-Length": {"1234"}, "Content-Type": {"text/plain"}},
		}}
	}
	for method, want := range map[string]int64{"HEAD": 1234, "POST": 0} {
		if answer, _ := e.send(t, method, hook, nil); answer.StatusCode != 200 || answer.ContentLength != want {
			t.Errorf("%s: status %d, length %d, want %d", method, answer.StatusCode, answer.ContentLength, want)
		}
	}
	e.verifier.presented = false // our own answers have a body that HEAD does not show
	if answer, body := e.send(t, "HEAD", hook, nil); answer.StatusCode != 401 || answer.ContentLength <= 0 || body != "" {
		t.Errorf("status %d, length %d, body %q", answer.StatusCode, answer.ContentLength, body)
	}
}

// An application that does not answer a control message has as long as for a delivery.
func TestAControlMessageHasItsTime(t *testing.T) {
	hold := make(chan struct{})
	application := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(application.Close)
	t.Cleanup(func() { close(hold) })
	passing, err := upstream.NewPassthrough(upstream.Config{URL: application.URL, OnError: proxy.PassFailed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(passing.Close)
	e := newEdge(t, func(c *proxy.Config, r *proxy.Route) { c.Passthrough, r.Timeout = passing, 200*time.Millisecond })
	e.verifier.proof.Control = &verify.Control{Name: "challenge"}
	answer, body := e.post(t, "ping")
	if answer.StatusCode != http.StatusGatewayTimeout || problemCode(answer, body) != "upstream_timeout" {
		t.Errorf("answered %d %s", answer.StatusCode, body)
	}
	if record := e.watch.next(t); record.Outcome != proxy.OutcomeControl {
		t.Errorf("recorded as %+v", record)
	}
}

// A control message whose sender goes away is recorded like any other: nothing stays in flight.
func TestAControlMessageIsRecordedWhateverBecomesOfIt(t *testing.T) {
	e := newEdge(t, func(c *proxy.Config, _ *proxy.Route) {
		c.Passthrough = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	e.verifier.proof.Control = &verify.Control{Name: "challenge"}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.server.URL+hook, strings.NewReader("ping"))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := e.server.Client().Do(request); err == nil {
		answer.Body.Close()
		t.Errorf("answered %d", answer.StatusCode)
	}
	if record := e.watch.next(t); record.Outcome != proxy.OutcomeControl {
		t.Errorf("recorded as %+v", record)
	}
}

// A delivery that a fault of ours breaks off is recorded, too, wherever the fault is: nothing stays in flight, or goes uncounted.
func TestADeliveryThatAFaultBreaksOffIsRecorded(t *testing.T) {
	for name, set := range map[string]func(*edge){
		"claim": func(e *edge) {
			e.ledger.claim = func(dedupe.Request) (dedupe.Decision, error) { panic(http.ErrAbortHandler) }
		},
		"forward": func(e *edge) {
			e.app.forward = func(context.Context, upstream.Attempt) delivery.Result { panic(http.ErrAbortHandler) }
		},
		"settle": func(e *edge) {
			e.ledger.settle = func(context.Context, dedupe.Settlement) error { panic(http.ErrAbortHandler) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			set(e)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.server.URL+hook, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := e.server.Client().Do(request); err == nil {
				answer.Body.Close()
				t.Errorf("answered %d", answer.StatusCode)
			}
			if record := e.watch.next(t); record.Outcome != proxy.OutcomeBrokenOff || record.Status != 0 || record.Reference == "" {
				t.Errorf("recorded as %+v", record)
			}
		})
	}
}

// A request that is kept tells its peer like one that is sent at once, whatever keeps it.
func TestAKeptRequestTellsItsPeer(t *testing.T) {
	kept := make(chan *dedupe.Job, 1)
	for name, set := range map[string]func(*edge, *proxy.Route){
		"accepted": func(e *edge, r *proxy.Route) {
			r.Accept, r.Acknowledge.Status = true, http.StatusAccepted
			e.ledger.claim = func(request dedupe.Request) (dedupe.Decision, error) {
				kept <- request.Job()
				return dedupe.Decision{Kind: dedupe.AlreadyQueued, First: true}, nil
			}
		},
		"dead before an attempt": func(e *edge, _ *proxy.Route) {
			e.ledger.claim = func(request dedupe.Request) (dedupe.Decision, error) {
				kept <- request.Job()
				return dedupe.Decision{Kind: dedupe.DeadLetter, Kept: true}, nil
			}
		},
		"queued": func(_ *edge, r *proxy.Route) {
			r.Policy.OnFailure, r.Acknowledge.Status = dedupe.Queue, http.StatusAccepted
		},
		"dead": func(_ *edge, r *proxy.Route) { r.Policy.Limit.MaxAttempts = 1 },
	} {
		var route proxy.Route
		e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { route = *r })
		e.app.forward = func(context.Context, upstream.Attempt) delivery.Result { return answered(503, "") }
		e.ledger.settle = func(_ context.Context, s dedupe.Settlement) error {
			kept <- s.Job
			return nil
		}
		set(e, &route)
		if err := e.Serve([]proxy.Route{route}); err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.server.URL+hook, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Forwarded-For", "203.0.113.7")
		answer, err := e.server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if job := <-kept; job == nil || !slices.Equal(job.Header["X-Forwarded-For"], []string{"203.0.113.7, 127.0.0.1"}) {
			t.Errorf("%s: kept as %+v", name, job)
		}
		for _, attempt := range e.app.seen() {
			if got := attempt.Delivery.Header["X-Forwarded-For"]; !slices.Equal(got, []string{"203.0.113.7"}) || attempt.Delivery.Peer != "127.0.0.1" {
				t.Errorf("%s: the attempt itself has %q and the peer %s", name, got, attempt.Delivery.Peer)
			}
		}
	}
}

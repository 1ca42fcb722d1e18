package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

const (
	hook  = "/hooks/orders"
	scope = delivery.Scope("acme/orders")
)

// edge is a Proxy on a real listener whose rooms do what a test says.
type edge struct {
	*proxy.Proxy
	server   *httptest.Server
	ledger   *scriptedLedger
	verifier *scriptedVerifier
	app      *scriptedApplication
	watch    *recordingWatch
}

func newEdge(t *testing.T, change func(*proxy.Config, *proxy.Route)) *edge {
	t.Helper()
	e := &edge{ledger: &scriptedLedger{}, verifier: newScriptedVerifier(), app: &scriptedApplication{}, watch: newRecordingWatch()}
	config := proxy.Config{
		Ledger: e.ledger, Application: e.app, Watch: e.watch, Guard: []string{"/hooks/"},
		Passthrough: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Write([]byte("passed " + r.RequestURI + " " + string(body)))
		}),
	}
	route := proxy.Route{
		Scope: scope, Path: hook, Methods: []string{"POST"}, Enabled: true, MaxBody: 1 << 20, Timeout: time.Second,
		InFlightStatus: 503, KeyHeader: "Idempotency-Key", Verifier: e.verifier,
		Policy: dedupe.Policy{Lease: 10 * time.Second},
	}
	if change != nil {
		change(&config, &route)
	}
	var err error
	if e.Proxy, err = proxy.New(config); err != nil {
		t.Fatal(err)
	}
	if err := e.Serve([]proxy.Route{route}); err != nil {
		t.Fatal(err)
	}
	e.server = httptest.NewUnstartedServer(e.Proxy)
	e.server.Listener = proxy.StrictListener(e.server.Listener)
	e.server.Config.ConnContext = proxy.ConnContext
	e.server.Start()
	t.Cleanup(e.server.Close)
	return e
}

// post sends a delivery and returns the answer with its body read.
func (e *edge) post(t *testing.T, body string) (*http.Response, string) {
	t.Helper()
	return e.send(t, http.MethodPost, hook, strings.NewReader(body))
}

func (e *edge) send(t *testing.T, method, path string, body io.Reader) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, e.server.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := e.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// scriptedLedger answers what a test wants, and remembers what it was asked.
type scriptedLedger struct {
	claim  func(dedupe.Request) (dedupe.Decision, error)
	settle func(context.Context, dedupe.Settlement) error
	look   func() (dedupe.Decision, error)

	mu      sync.Mutex
	claims  int
	settled []dedupe.Settlement
}

func (l *scriptedLedger) Claim(_ context.Context, r dedupe.Request) (dedupe.Decision, error) {
	l.mu.Lock()
	l.claims++
	l.mu.Unlock()
	if l.claim != nil {
		return l.claim(r)
	}
	return fresh(r), nil
}

func fresh(r dedupe.Request) dedupe.Decision {
	return dedupe.Decision{Kind: dedupe.Fresh, Claim: dedupe.Claim{Scope: r.Scope, EventID: r.EventID, Attempt: 1}}
}

func (l *scriptedLedger) Settle(ctx context.Context, _ dedupe.Claim, s dedupe.Settlement) error {
	l.mu.Lock()
	l.settled = append(l.settled, s)
	l.mu.Unlock()
	if l.settle != nil {
		return l.settle(ctx, s)
	}
	return nil
}

func (l *scriptedLedger) Look(context.Context, dedupe.Request) (dedupe.Decision, error) {
	return l.look()
}

func (l *scriptedLedger) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claims
}

// scriptedVerifier accepts everything as event evt-1 unless told otherwise.
type scriptedVerifier struct {
	live, presented bool
	proof           verify.Proof
	err             error
}

func newScriptedVerifier() *scriptedVerifier {
	return &scriptedVerifier{live: true, presented: true, proof: verify.Proof{
		Scope: scope, CredentialID: "key-1", EventID: "evt-1", IDSigned: true, EventType: "order.paid",
	}}
}

func (v *scriptedVerifier) Live(time.Time) bool                        { return v.live }
func (v *scriptedVerifier) Presented(string, string, http.Header) bool { return v.presented }
func (v *scriptedVerifier) Authenticate(*delivery.Delivery, time.Time) (verify.Proof, error) {
	return v.proof, v.err
}

// scriptedApplication answers 200 "done" unless told otherwise.
type scriptedApplication struct {
	forward func(context.Context, upstream.Attempt) delivery.Result

	mu       sync.Mutex
	attempts []upstream.Attempt
}

func (a *scriptedApplication) Forward(ctx context.Context, attempt upstream.Attempt) delivery.Result {
	a.mu.Lock()
	a.attempts = append(a.attempts, attempt)
	a.mu.Unlock()
	if a.forward != nil {
		return a.forward(ctx, attempt)
	}
	return answered(200, "done")
}

func (a *scriptedApplication) seen() []upstream.Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]upstream.Attempt(nil), a.attempts...)
}

func answered(status int, body string) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{
		Status: status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(body),
	}}
}

// recordingWatch keeps the records.
type recordingWatch struct{ records chan proxy.Record }

func newRecordingWatch() *recordingWatch {
	return &recordingWatch{records: make(chan proxy.Record, 100)}
}

func (w *recordingWatch) Begin(r *http.Request) context.Context {
	return context.WithoutCancel(r.Context())
}
func (w *recordingWatch) Stage(ctx context.Context, _ proxy.Stage) (context.Context, func()) {
	return ctx, func() {}
}
func (w *recordingWatch) TraceParent(context.Context) string     { return "00-trace" }
func (w *recordingWatch) Done(_ context.Context, r proxy.Record) { w.records <- r }

// next waits for the record of a request that has been answered.
func (w *recordingWatch) next(t *testing.T) proxy.Record {
	t.Helper()
	select {
	case r := <-w.records:
		return r
	case <-t.Context().Done():
		t.Fatal("no record")
		return proxy.Record{}
	}
}

package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/admin"
)

const token = "token-0123456789abcdef"

// desk is an Admin over a real ledger.
type desk struct {
	*admin.Admin
	keeper  *dedupe.Keeper
	unready []string
}

// newDesk makes one; secret "" configures no token.
func newDesk(t *testing.T, secret string) *desk {
	t.Helper()
	if secret == "" {
		return newDeskWith(t, nil)
	}
	return newDeskWith(t, []admin.Token{{Role: admin.Operate, Secret: []byte(secret)}})
}

// newDeskWith makes one with tokens; nil configures none.
func newDeskWith(t *testing.T, tokens []admin.Token) *desk {
	t.Helper()
	d := &desk{keeper: openLedger(t)}
	c := admin.Config{
		Receipts: d.keeper, Dead: d.keeper,
		Unready: func() []string { return d.unready },
		Status:  func(context.Context) any { return map[string]string{"version": "1"} },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metric 1\n") }),
	}
	if tokens != nil {
		c.Tokens = func() ([]admin.Token, error) { return tokens, nil }
	}
	var err error
	if d.Admin, err = admin.New(c); err != nil {
		t.Fatal(err)
	}
	return d
}

// ask makes a request to the operator listener; edit may change it.
func (d *desk) ask(method, target, body string, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1234"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	d.Operator().ServeHTTP(w, r)
	return w
}

func bearer(value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", value) }
}

// wantProblem checks status and code of a problem.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	var problem struct{ Code string }
	err := json.Unmarshal(w.Body.Bytes(), &problem)
	if w.Code != status || err != nil || problem.Code != code || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s %s, want %d with code %s", w.Code, w.Header().Get("Content-Type"), w.Body, status, code)
	}
}

func TestProbes(t *testing.T) {
	d := newDesk(t, "")
	for _, handler := range []http.Handler{d.Operator(), d.Probes()} {
		for target, want := range map[string]string{"/livez": "alive\n", "/readyz": "ready\n", "/metrics": "metric 1\n"} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, http.NoBody))
			if w.Code != 200 || w.Body.String() != want {
				t.Errorf("%s: %d %q", target, w.Code, w.Body)
			}
		}
	}
	d.unready = []string{"draining", "no application"}
	if w := d.ask(http.MethodGet, "/readyz", "", nil); w.Code != 503 || w.Body.String() != "not ready: draining; no application\n" {
		t.Errorf("unready: %d %q", w.Code, w.Body)
	}
	if w := d.ask(http.MethodGet, "/livez", "", nil); w.Code != 200 {
		t.Errorf("a process that gets no traffic is alive all the same: %d", w.Code)
	}
}

func TestTheProbeListenerHasNothingElse(t *testing.T) {
	d := newDesk(t, "")
	for _, target := range []string{"/", "/api/v1/status", "/api/v1/dead-letters", "/debug/pprof/", "/livez/x"} {
		w := httptest.NewRecorder()
		d.Probes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, http.NoBody))
		wantProblem(t, w, 404, "path_unknown")
	}
	w := httptest.NewRecorder()
	d.Probes().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/livez", http.NoBody))
	wantProblem(t, w, 405, "method_not_allowed")
}

func TestWithoutATokenOnlyThisMachineReads(t *testing.T) {
	d := newDesk(t, "")
	if w := d.ask(http.MethodGet, "/api/v1/status", "", nil); w.Code != 200 {
		t.Errorf("loopback: %d", w.Code)
	}
	for _, peer := range []string{"10.0.0.1:80", "[2001:db8::1]:80", "", "somewhere"} {
		w := d.ask(http.MethodGet, "/api/v1/status", "", func(r *http.Request) {
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-For", "127.0.0.1")
			r.Host = "localhost"
		})
		wantProblem(t, w, 403, "loopback_only")
	}
	for _, peer := range []string{"[::1]:80", "127.9.9.9:80", "[::ffff:127.0.0.1]:80"} {
		if w := d.ask(http.MethodGet, "/api/v1/status", "", func(r *http.Request) { r.RemoteAddr = peer }); w.Code != 200 {
			t.Errorf("%s: %d", peer, w.Code)
		}
	}
	for _, edit := range []func(*http.Request){nil, bearer("Bearer "), bearer("Bearer x")} {
		wantProblem(t, d.ask(http.MethodPost, "/api/v1/dead-letters/replay", replayBody("dead"), edit), 403, "writes_off")
	}
}

func TestTheTokenIsRequired(t *testing.T) {
	d := newDesk(t, token)
	for _, value := range []string{"", "Bearer", "Bearer ", "Bearer x", "Basic " + token, token, "Bearer " + token + "x", "Bearer " + token[1:]} {
		wantProblem(t, d.ask(http.MethodGet, "/api/v1/status", "", bearer(value)), 401, "token_required")
		wantProblem(t, d.ask(http.MethodPost, "/api/v1/dead-letters/close", replayBody("dead"), bearer(value)), 401, "token_required")
	}
	twice := d.ask(http.MethodGet, "/api/v1/status", "", func(r *http.Request) {
		r.Header["Authorization"] = []string{"Bearer x", "Bearer " + token}
	})
	wantProblem(t, twice, 401, "token_required")
	for _, value := range []string{"Bearer " + token, "bearer " + token} {
		w := d.ask(http.MethodGet, "/api/v1/status", "", func(r *http.Request) {
			r.RemoteAddr = "10.0.0.1:80"
			r.Header.Set("Authorization", value)
		})
		if w.Code != 200 {
			t.Errorf("%s: %d", value, w.Code)
		}
	}
}

func TestAnEmptyTokenIsNoToken(t *testing.T) {
	d := newDesk(t, " ")
	for _, value := range []string{"", "Bearer ", "Bearer  "} {
		wantProblem(t, d.ask(http.MethodGet, "/api/v1/status", "", bearer(value)), 401, "token_required")
	}
}

func TestNewWantsWhatItNeeds(t *testing.T) {
	if _, err := admin.New(admin.Config{}); err == nil {
		t.Error("an admin of nothing")
	}
}

package proxy_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// reloaded serves the edge's route again, as a reload does, with another verifier.
func (e *edge) reloaded(t *testing.T, with *scriptedVerifier) {
	t.Helper()
	route := proxy.Route{
		Scope: scope, Path: hook, Methods: []string{"POST"}, Enabled: true, MaxBody: 1 << 20, Timeout: time.Second,
		InFlightStatus: 503, KeyHeader: "Idempotency-Key", Verifier: with, Policy: dedupe.Policy{Lease: 10 * time.Second},
	}
	if err := e.Serve([]proxy.Route{route}); err != nil {
		t.Error(err)
	}
}

func mismatch() *scriptedVerifier {
	v := newScriptedVerifier()
	v.err = &verify.Rejection{Reason: verify.SignatureMismatch}
	return v
}

// Whatever a reload makes of the credential, a duplicate that waits for a running attempt is judged by it.
func TestAWaitingDuplicateIsJudgedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		reload func(t *testing.T, e *edge)
		status int
		code   string
		claims int
	}{
		"revoked, another key is live": {func(t *testing.T, e *edge) { e.reloaded(t, mismatch()) }, 401, "signature_rejected", 1},
		"revoked, no key is live": {func(t *testing.T, e *edge) {
			dead := mismatch()
			dead.live = false
			e.reloaded(t, dead)
		}, 503, "no_live_credential", 1},
		"the integration is gone": {func(t *testing.T, e *edge) {
			if err := e.Serve(nil); err != nil {
				t.Error(err)
			}
		}, 503, "no_live_credential", 1},
		"cannot be judged": {func(t *testing.T, e *edge) {
			unsure := newScriptedVerifier()
			unsure.err = verify.ErrUnavailable
			e.reloaded(t, unsure)
		}, 503, "no_live_credential", 1},
		"the key still counts": {func(t *testing.T, e *edge) { e.reloaded(t, newScriptedVerifier()) }, 201, "", 2},
		"nothing was reloaded": {func(*testing.T, *edge) {}, 201, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(_ *proxy.Config, r *proxy.Route) { r.DuplicateWait = time.Minute })
			e.ledger.claim = func(dedupe.Request) (dedupe.Decision, error) {
				if e.ledger.asked() == 1 {
					c.reload(t, e)
					return dedupe.Decision{Kind: dedupe.InFlight, LeaseLeft: time.Minute}, nil
				}
				return dedupe.Decision{Kind: dedupe.Replay, Response: kept()}, nil
			}
			answer, body := e.post(t, "{}")
			if answer.StatusCode != c.status || !strings.Contains(body, c.code) || e.ledger.asked() != c.claims {
				t.Errorf("status %d, %d claims, body %s", answer.StatusCode, e.ledger.asked(), body)
			}
			if len(e.app.seen()) != 0 {
				t.Error("the application was called")
			}
		})
	}
}

// A body that is read slowly does not keep a revoked credential alive.
func TestARevocationCountsWhileABodyIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		reload func(e *edge)
		status int
	}{
		"another key is live": {func(e *edge) { e.reloaded(t, mismatch()) }, http.StatusUnauthorized},
		"no key is live": {func(e *edge) {
			dead := mismatch()
			dead.live = false
			e.reloaded(t, dead)
		}, http.StatusServiceUnavailable},
		"the integration is gone": {func(e *edge) {
			if err := e.Serve(nil); err != nil {
				t.Error(err)
			}
		}, http.StatusServiceUnavailable},
	} {
		var e *edge
		e = newEdge(t, func(_ *proxy.Config, r *proxy.Route) {
			r.Verifier = beforeTheBody{newScriptedVerifier(), func() { c.reload(e) }}
		})
		if answer, _ := e.post(t, "{}"); answer.StatusCode != c.status || e.ledger.asked() != 0 {
			t.Errorf("%s: status %d, %d claims", name, answer.StatusCode, e.ledger.asked())
		}
	}
}

// beforeTheBody does something when the header section has been looked at.
type beforeTheBody struct {
	*scriptedVerifier

	act func()
}

func (v beforeTheBody) Presented(string, string, http.Header) bool {
	v.act()
	return true
}

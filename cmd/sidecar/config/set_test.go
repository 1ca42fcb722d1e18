package config

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func TestDefaultsOfAPreset(t *testing.T) {
	set := mustLoad(t, "integrations:\n"+strings.Replace(integration(), "provider: stripe", "provider: github", 1), nil)
	route := set.Routes()[0]
	if route.MaxBody != 25<<20 || route.Timeout != 20*time.Second || route.InFlightStatus != 503 || !route.Enabled ||
		route.KeyHeader != "Idempotency-Key" || route.KeyScoped || route.ReplayConflict || route.Paused {
		t.Errorf("got %+v", route)
	}
	policy := route.Policy
	if policy.Lease != 30*time.Second || policy.Record.MaxBody != 4096 || !policy.Record.Final(204) || policy.Record.Final(302) ||
		policy.InDoubt != dedupe.Retry || policy.Limit != (dedupe.Limit{}) ||
		policy.Retention.Receipt != 168*time.Hour+5*time.Minute || policy.Retention.DeadLetter != 30*day {
		t.Errorf("got %+v", policy)
	}
}

func TestEverythingWrittenReachesItsRoom(t *testing.T) {
	set := mustLoad(t, "integrations:\n"+integration("methods: [POST, PUT]", "enabled: false", "paused: true", "max_body: 2KiB",
		"timeout: 3s", "lease: 9s", "duplicate_wait: 1s", "in_flight_status: 429", "conflict: replay", "in_doubt: quarantine",
		"record: {statuses: [200, 410], headers: [etag], max_body: 1KiB}", "forward_limit: {max_attempts: 4, max_age: 2d}",
		"retention: {sender_window: 1d, repair_window: 1h, clock_skew: 1m, dead_letter: 2d}",
		"idempotency: {header: x-key, value: scoped}", "owner: somebody", "docs_reviewed: 2026-11-01",
		"mode: forward", "on_failure: respond", "concurrency: 0", "retry: {max_attempts: 200, max_age: 72h, initial: 5s, max: 1h}",
		"accept: {status: 202, body: '', content_type: text/plain}"), nil)
	route := set.Routes()[0]
	if len(route.Methods) != 2 || route.Enabled || !route.Paused || route.MaxBody != 2048 || route.Timeout != 3*time.Second ||
		route.DuplicateWait != time.Second || route.InFlightStatus != 429 || !route.ReplayConflict || route.KeyHeader != "X-Key" || !route.KeyScoped {
		t.Errorf("got %+v", route)
	}
	policy := set.Policies()["acme/payments"]
	if policy.Lease != 9*time.Second || policy.InDoubt != dedupe.Quarantine || policy.Limit != (dedupe.Limit{MaxAttempts: 4, MaxAge: 2 * day}) ||
		policy.Record.Final(201) || !policy.Record.Final(410) || policy.Record.Headers[0] != "Etag" || policy.Record.MaxBody != 1024 ||
		policy.Retention != (dedupe.Retention{Receipt: 25*time.Hour + time.Minute, DeadLetter: 2 * day}) {
		t.Errorf("got %+v", policy)
	}
}

// delivered signs a delivery by the first active credential and tells whether a set verifies it.
func delivered(t *testing.T, signer, judge *Set) bool {
	t.Helper()
	d := &delivery.Delivery{Method: http.MethodPost, Target: "/webhooks/stripe", Header: http.Header{}, Body: []byte(`{"id":"evt_1","type":"a"}`)}
	header, err := signer.Verifier("acme/payments").Sign(d, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d.Header = header
	_, err = judge.Verifier("acme/payments").Authenticate(d, time.Now())
	return err == nil
}

func TestRevokeTakesOnlyWhatIsNamed(t *testing.T) {
	text := strings.Replace("integrations:\n"+integration(), "/run/good}}]", "/run/good}}, {id: k2, secret: {file: /run/other}}]", 1)
	set := mustLoad(t, text, files{"/run/other": "other-" + testSecret})
	second := mustLoad(t, strings.Replace("integrations:\n"+integration(), "/run/good", "/run/other", 1), files{"/run/other": "other-" + testSecret})

	same, count, err := set.Revoke([]Revocation{{"acme/payments", "k3"}, {"acme/refunds", "k1"}})
	if err != nil || count != 0 || same != set {
		t.Fatalf("%d revoked, %v", count, err)
	}
	next, count, err := set.Revoke([]Revocation{{"acme/payments", "k1"}})
	if err != nil || count != 1 {
		t.Fatalf("%d revoked, %v", count, err)
	}
	if !delivered(t, set, set) || delivered(t, set, next) {
		t.Error("the named credential has not lost its power, or had none")
	}
	if !delivered(t, second, next) {
		t.Error("the other credential lost its power, too")
	}
}

func TestRevokeTakesTheSecretUnderEveryName(t *testing.T) {
	text := strings.Replace("integrations:\n"+integration(), "/run/good}}]", "/run/good}}, {id: k2, secret: {file: /run/good}}]", 1)
	set := mustLoad(t, text, nil)
	next, count, err := set.Revoke([]Revocation{{"acme/payments", "k1"}})
	if err != nil || count != 2 {
		t.Fatalf("%d revoked, %v", count, err)
	}
	if delivered(t, set, next) {
		t.Error("the secret still verifies under its other name")
	}
}

func TestRevocationsAreReadWhateverElseIsWrong(t *testing.T) {
	found := Revocations([]byte(`
surprise: true
integrations:
  - account: acme
    name: payments
    nonsense: [1, 2
      ]
    credentials:
      - {id: k1, status: revoked}
      - {id: k2, status: retiring, secret: {file: /gone}}
      - {id: k3, status: revoked, secret: {file: /gone}}
      - {id: k6, status: " Revoked"}
  - account: acme
    name: payments
    credentials: &shared
      - {id: k4, status: revoked}
  - account: globex
    name: x
    credentials: *shared
  - just text
  - account: bad/name
    name: x
    credentials: [{id: k5, status: revoked}]
`))
	want := []Revocation{{"acme/payments", "k1"}, {"acme/payments", "k3"}, {"acme/payments", "k6"}, {"acme/payments", "k4"}, {"globex/x", "k4"}}
	if len(found) != len(want) {
		t.Fatalf("found %v", found)
	}
	for i := range want {
		if found[i] != want[i] {
			t.Errorf("found %v, want %v", found[i], want[i])
		}
	}
	if got := Revocations([]byte("integrations: [")); got != nil {
		t.Errorf("what is no YAML says %v", got)
	}
}

func TestAcceptModeReachesItsRooms(t *testing.T) {
	set := mustLoad(t, "integrations:\n"+integration("mode: accept", "retry: {max_attempts: 7, max_age: 2h, initial: 1s, max: 1m}",
		"record: {rejected: [404]}", "accept: {status: 200, body: ok, content_type: text/html}", "concurrency: 3", "timeout: 3s",
		"lease: 9s", "in_doubt: quarantine"), nil)
	route, work := set.Routes()[0], set.WorkRoutes()[0]
	if !route.Accept || route.Acknowledge.Status != 200 || route.Acknowledge.Body != "ok" || route.Acknowledge.ContentType != "text/html" {
		t.Errorf("route is %+v", route)
	}
	policy := work.Policy.Worked()
	if policy.OnFailure != dedupe.Queue || policy.Limit != (dedupe.Limit{MaxAttempts: 7, MaxAge: 2 * time.Hour}) ||
		policy.Backoff.Initial != time.Second || policy.Backoff.Max != time.Minute || policy.InDoubt != dedupe.Quarantine ||
		!policy.Record.Rejected(404) || policy.Record.Rejected(422) {
		t.Errorf("policy is %+v", policy)
	}
	if work.Scope != "acme/payments" || work.Concurrency != 3 || work.Timeout != 3*time.Second || work.Hold || work.KeyHeader != "Idempotency-Key" {
		t.Errorf("work is %+v", work)
	}
	if route.Policy.OnFailure != dedupe.Queue || route.Policy.Limit != policy.Limit {
		t.Errorf("deliveries have the policy %+v", route.Policy)
	}
}

// The worker has jobs of forward-only integrations, too: replayed dead letters.
func TestWorkOfForwardModeIsLimitedByRetry(t *testing.T) {
	set := mustLoad(t, "integrations:\n"+integration("forward_limit: {max_attempts: 4}"), nil)
	route, work := set.Routes()[0], set.WorkRoutes()[0].Policy.Worked()
	if route.Accept || route.Policy.OnFailure != dedupe.Respond || route.Policy.Limit.MaxAttempts != 4 || route.Policy.Record.Rejected != nil {
		t.Errorf("deliveries have the policy %+v", route.Policy)
	}
	if work.OnFailure != dedupe.Queue || work.Limit != (dedupe.Limit{MaxAttempts: 200, MaxAge: 72 * time.Hour}) {
		t.Errorf("the worker has the policy %+v", work)
	}
	queueing := mustLoad(t, "integrations:\n"+integration("on_failure: queue", "forward_limit: {max_attempts: 4}"), nil).Routes()[0]
	if queueing.Accept || queueing.Policy.OnFailure != dedupe.Queue || queueing.Policy.Limit != (dedupe.Limit{MaxAttempts: 4, MaxAge: 72 * time.Hour}) {
		t.Errorf("deliveries have the policy %+v", queueing.Policy)
	}
}

func TestPausedAndDisabledIntegrationsHoldTheirJobs(t *testing.T) {
	for _, line := range []string{"paused: true", "enabled: false"} {
		if set := mustLoad(t, "integrations:\n"+integration("mode: accept", line), nil); !set.WorkRoutes()[0].Hold {
			t.Errorf("%s works jobs off", line)
		}
	}
}

package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
)

const firstDelivery = "00-33333333333333333333333333333333-4444444444444444-01"

// attempt lets one attempt at a job be seen.
func attempt(t *testing.T, w *watched, outcome worker.Outcome) {
	t.Helper()
	attempts, err := telemetry.NewAttempts(w.Watch, w.providers.Meter)
	if err != nil {
		t.Fatal(err)
	}
	ctx := attempts.Begin(firstDelivery)
	arrow, end := attempts.Stage(ctx, worker.StageForward)
	parent := attempts.TraceParent(arrow)
	end()
	_, end = attempts.Stage(ctx, worker.StageSettle)
	end()
	if len(parent) != 55 || strings.Contains(parent, firstDelivery[3:35]) {
		t.Errorf("the application gets the traceparent %q", parent)
	}
	attempts.Done(ctx, worker.Record{
		Scope: "acme/orders", CredentialID: "key-1", Reference: "0123456789abcdef", EventType: "order.paid", Trace: firstDelivery,
		Outcome: outcome, Reason: "not_final", Status: 503, Attempt: 3, EventAge: time.Minute, BodyBytes: 11,
		Waited: 7 * time.Millisecond, Forward: 5 * time.Millisecond, Settle: time.Millisecond,
	})
}

func TestAnAttemptIsLoggedCountedAndLinked(t *testing.T) {
	w := newWatched(t)
	attempt(t, w, worker.OutcomeDead)
	for _, want := range []string{
		`"level":"WARN","msg":"attempt","outcome":"dead"`, `"scope":"acme/orders"`, `"event":"0123456789abcdef"`,
		`"reason":"not_final","status":503,"attempt":3`, `"waited_us":7000,"forward_us":5000,"settle_us":1000`, `"trace_id":"`,
	} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, w.log.String())
		}
	}
	page := w.page(t)
	for _, want := range []string{
		`webhook_attempts_total{integration="acme/orders",outcome="dead"} 1`, `webhook_job_wait_seconds_sum 0.007`,
		`webhook_attempt_duration_seconds_count{outcome="dead"} 1`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	ended := w.spans.Ended()
	if len(ended) != 3 || ended[2].Name() != "webhook attempt" || ended[2].Parent().IsValid() {
		t.Fatalf("spans are %+v", ended)
	}
	for i, name := range []string{"forward", "settle"} {
		if arrow := ended[i]; arrow.Name() != name || arrow.Parent().SpanID() != ended[2].SpanContext().SpanID() {
			t.Errorf("%s is below %s", arrow.Name(), arrow.Parent().SpanID())
		}
	}
	links := ended[2].Links()
	if len(links) != 1 || links[0].SpanContext.TraceID().String() != firstDelivery[3:35] {
		t.Errorf("links are %+v", links)
	}
}

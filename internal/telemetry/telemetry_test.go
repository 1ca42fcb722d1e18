package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// watched is a Watch with everything that it writes at hand.
type watched struct {
	*telemetry.Watch
	providers *telemetry.Providers
	spans     *tracetest.SpanRecorder
	log       bytes.Buffer
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	providers, err := telemetry.NewProviders(t.Context(), telemetry.Identity{Version: "test", Namespace: "default", Replica: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { providers.Shutdown(context.Background()) })
	w := &watched{providers: providers, spans: tracetest.NewSpanRecorder()}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)).Tracer("test")
	w.Watch, err = telemetry.NewWatch(slog.New(slog.NewJSONHandler(&w.log, nil)), tracer, providers.Meter)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) page(t *testing.T) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	w.providers.Page().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return recorder.Body.String()
}

const theirs = "00-11111111111111111111111111111111-2222222222222222-01"

func request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/hooks/orders?token=canary-query", strings.NewReader("canary-body"))
	r.Header.Set("Traceparent", theirs)
	r.Header.Set("Baggage", "user=canary-baggage")
	r.Header.Set("X-Signature", "canary-signature")
	return r
}

func applied() proxy.Record {
	r := proxy.Record{
		Scope: "acme/orders", CredentialID: "key-1", Reference: "0123456789abcdef", EventType: "order.paid",
		Outcome: proxy.OutcomeApplied, Status: 200, Attempt: 2, EventAge: 3 * time.Second, BodyBytes: 11, Total: 5 * time.Millisecond,
	}
	r.Stages[proxy.StageClaim] = time.Millisecond
	return r
}

func TestOneTracePerDelivery(t *testing.T) {
	w := newWatched(t)
	ctx := w.Begin(request())
	staged, end := w.Stage(ctx, proxy.StageForward)
	parent := w.TraceParent(staged)
	end()
	record := applied()
	record.Trace = "00-33333333333333333333333333333333-4444444444444444-00"
	w.Done(ctx, record)

	spans := w.spans.Ended()
	if len(spans) != 2 {
		t.Fatalf("%d spans, want the delivery's and the arrow's", len(spans))
	}
	arrow, root := spans[0], spans[1]
	if root.Parent().IsValid() || root.SpanContext().TraceID().String() == theirs[3:35] {
		t.Error("the sender's trace was continued")
	}
	if arrow.Parent().SpanID() != root.SpanContext().SpanID() {
		t.Error("the arrow is not under the delivery")
	}
	if !strings.Contains(parent, arrow.SpanContext().SpanID().String()) || !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(parent) {
		t.Errorf("the application would get %q", parent)
	}
	links := map[string]string{}
	for _, link := range root.Links() {
		links[link.Attributes[0].Value.AsString()] = link.SpanContext.TraceID().String()
	}
	if links["sender"] != theirs[3:35] || links["original"] != strings.Repeat("3", 32) {
		t.Errorf("links %v", links)
	}
	if !has(root.Attributes(), "webhook.outcome", "applied") || !has(root.Attributes(), "webhook.event.reference", "0123456789abcdef") {
		t.Errorf("attributes %v", root.Attributes())
	}
}

func has(attributes []attribute.KeyValue, key, value string) bool {
	for _, a := range attributes {
		if string(a.Key) == key && a.Value.String() == value {
			return true
		}
	}
	return false
}

func TestOneLogRecordPerDelivery(t *testing.T) {
	w := newWatched(t)
	ctx := w.Begin(request())
	record := applied()
	record.Err = errors.New("the ledger is away")
	w.Done(ctx, record)
	var line map[string]any
	if err := json.Unmarshal(w.log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, w.log.String())
	}
	for key, want := range map[string]any{
		"msg": "delivery", "outcome": "applied", "status": 200.0, "scope": "acme/orders", "event": "0123456789abcdef",
		"credential": "key-1", "attempt": 2.0, "event_age_ms": 3000.0, "claim_us": 1000.0, "total_us": 5000.0, "error": "the ledger is away",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if _, there := line["forward_us"]; there {
		t.Error("an arrow that was not reached has a duration")
	}
}

func TestNothingSecretIsShown(t *testing.T) {
	w := newWatched(t)
	w.Done(w.Begin(request()), applied())
	shown := w.log.String() + w.page(t)
	for _, span := range w.spans.Ended() {
		shown += span.Name() + fmt.Sprint(span.Attributes(), span.Links(), span.Events())
	}
	if strings.Contains(shown, "canary") {
		t.Errorf("a canary sings: %s", shown)
	}
}

func TestALostAttemptIsLogged(t *testing.T) {
	w := newWatched(t)
	record := applied()
	record.Outcome, record.LostAttempt, record.LostStatus = proxy.OutcomeReplayed, 1, 200
	w.Done(w.Begin(request()), record)
	for _, want := range []string{`"level":"WARN","msg":"delivery","outcome":"replayed"`, `"lost_attempt":1,"lost_status":200`} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, w.log.String())
		}
	}
}

func TestMetricsPage(t *testing.T) {
	w := newWatched(t)
	w.Done(w.Begin(request()), applied())
	refused := proxy.Record{Scope: "acme/orders", Outcome: proxy.OutcomeRejected, Status: 401, Code: "signature_rejected", Reason: "stale"}
	w.Done(w.Begin(request()), refused)
	w.Begin(request()) // still running
	page := w.page(t)
	for _, want := range []string{
		`webhook_deliveries_total{integration="acme/orders",outcome="applied"} 1`,
		`webhook_rejections_total{integration="acme/orders",reason="stale"} 1`,
		`webhook_credential_uses_total{integration="acme/orders",status="active"} 1`,
		`webhook_deliveries_in_flight 1`,
		`webhook_stage_duration_seconds_count{stage="claim"} 1`,
		`webhook_delivery_duration_seconds_count{outcome="rejected"} 1`,
		`go_goroutine_count`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// However many integrations there are, the number of series is bounded.
func TestSeriesAreBounded(t *testing.T) {
	w := newWatched(t)
	for i := range 1000 {
		record := applied()
		record.Scope = delivery.Scope(fmt.Sprintf("acme/i%d", i))
		w.Done(w.Begin(request()), record)
	}
	page := w.page(t)
	if n := strings.Count(page, "webhook_deliveries_total{"); n != 201 {
		t.Errorf("%d series, want 200 integrations and other", n)
	}
	if !strings.Contains(page, `webhook_deliveries_total{integration="other",outcome="applied"} 800`) {
		t.Error("the others do not share one series")
	}
}

type scriptedOpen struct {
	open []dedupe.Attention
	err  error
	done context.CancelFunc
}

func (s *scriptedOpen) Attention(context.Context) ([]dedupe.Attention, error) {
	defer s.done()
	return s.open, s.err
}

func TestAttention(t *testing.T) {
	w := newWatched(t)
	ctx, cancel := context.WithCancel(t.Context())
	ledger := &scriptedOpen{done: cancel, open: []dedupe.Attention{
		{Scope: "acme/orders", State: dedupe.Dead, Count: 2, Oldest: time.Hour},
	}}
	attention, err := telemetry.NewAttention(w.providers.Meter, ledger)
	if err != nil {
		t.Fatal(err)
	}
	if err := attention.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if page := w.page(t); !strings.Contains(page, `webhook_receipts_open{integration="acme/orders",state="dead"} 2`) ||
		!strings.Contains(page, `webhook_receipts_oldest_age_seconds{integration="acme/orders",state="dead"} 3600`) {
		t.Errorf("page: %s", page)
	}
	ledger.err = errors.New("away")
	ctx, ledger.done = context.WithCancel(t.Context())
	if err := attention.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(w.page(t), "webhook_receipts_open{") {
		t.Error("a ledger out of reach leaves stale gauges")
	}
}

func BenchmarkWatch(b *testing.B) {
	providers, err := telemetry.NewProviders(b.Context(), telemetry.Identity{})
	if err != nil {
		b.Fatal(err)
	}
	watch, err := telemetry.NewWatch(slog.New(slog.DiscardHandler), providers.Tracer, providers.Meter)
	if err != nil {
		b.Fatal(err)
	}
	r, record := request(), applied()
	b.ReportAllocs()
	for b.Loop() {
		ctx := watch.Begin(r)
		_, end := watch.Stage(ctx, proxy.StageClaim)
		watch.TraceParent(ctx)
		end()
		watch.Done(ctx, record)
	}
}

func TestExportFaultsAreToldOnce(t *testing.T) {
	var log bytes.Buffer
	telemetry.TellFaults(slog.New(slog.NewJSONHandler(&log, nil)))
	for range 1000 {
		otel.Handle(errors.New("the collector is away"))
	}
	if n := strings.Count(log.String(), "the collector is away"); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// What somebody has written wrong into the settings of OpenTelemetry is complained about, and never shown: it may be a token.
func TestASettingThatIsWrittenWrongIsNotShown(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		for _, headers := range []string{"authorization: Bearer canary", "authorization=%zzcanary", "=canary", "canary"} {
			var log bytes.Buffer
			telemetry.TellFaults(slog.New(slog.NewJSONHandler(&log, nil)))
			for name, value := range map[string]string{
				"OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS": headers,
			} {
				t.Setenv(name, value)
			}
			providers, err := telemetry.NewProviders(t.Context(), telemetry.Identity{})
			if err != nil {
				if strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %q: the error is %v", protocol, headers, err)
				}
				continue
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_ = providers.Shutdown(ended) // nobody is there
			if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "complaint") {
				t.Errorf("%s: %q: the log says %q", protocol, headers, text)
			}
		}
	}
}

// A slow bucket leads to a trace and to the event, and the event is no label.
func TestExemplarsLeadToTraceAndEvent(t *testing.T) {
	w := newWatched(t)
	ctx := w.Begin(request())
	w.Done(ctx, applied())
	attempt(t, w, worker.OutcomeApplied)
	ask := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	ask.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	recorder := httptest.NewRecorder()
	w.providers.Page().ServeHTTP(recorder, ask)
	page := recorder.Body.String()
	traces := map[string]string{}
	for _, span := range w.spans.Ended() {
		traces[span.Name()] = span.SpanContext().TraceID().String()
	}
	for metric, span := range map[string]string{
		"webhook_delivery_duration_seconds": "webhook delivery", "webhook_attempt_duration_seconds": "webhook attempt",
	} {
		exemplar := regexp.MustCompile(`(?m)^` + metric + `_bucket\{outcome="applied",le="[^"]*"\} \d+ # \{([^}]*)\}`).FindStringSubmatch(page)
		if exemplar == nil {
			t.Errorf("%s has no exemplar:\n%s", metric, page)
			continue
		}
		for _, want := range []string{`event="0123456789abcdef"`, `trace_id="` + traces[span] + `"`} {
			if !strings.Contains(exemplar[1], want) {
				t.Errorf("the exemplar of %s is %s, want %s", metric, exemplar[1], want)
			}
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if labels, _, _ := strings.Cut(line, " # "); strings.Contains(labels, "0123456789abcdef") {
			t.Errorf("a reference has become a label: %s", line)
		}
	}
}

// What is not sampled leaves no trace to find: no exemplar, and the same series.
func TestNoExemplarWithoutATrace(t *testing.T) {
	w := newWatched(t)
	watch, err := telemetry.NewWatch(slog.New(slog.DiscardHandler), w.providers.Tracer, w.providers.Meter)
	if err != nil {
		t.Fatal(err)
	}
	watch.Done(watch.Begin(request()), applied())
	if page := w.page(t); strings.Contains(page, "0123456789abcdef") ||
		!strings.Contains(page, `webhook_delivery_duration_seconds_bucket{outcome="applied",le="0.005"} 1`) {
		t.Error(page)
	}
}

// In accept mode an acknowledgement may be the first one or that of a duplicate: the counter tells them apart.
func TestDuplicatesAreCounted(t *testing.T) {
	w := newWatched(t)
	record := applied()
	record.Outcome = proxy.OutcomeQueued
	w.Done(w.Begin(request()), record)
	record.Duplicate = true
	for range 3 {
		w.Done(w.Begin(request()), record)
	}
	page := w.page(t)
	for _, want := range []string{`webhook_duplicates_total{integration="acme/orders"} 3`, `webhook_deliveries_total{integration="acme/orders",outcome="queued"} 4`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
}

// Every integration that has series of its own has all of them, whoever reads them how often: none comes and goes.
func TestNoSeriesComesAndGoes(t *testing.T) {
	outcomes := []proxy.Outcome{
		proxy.OutcomeApplied, proxy.OutcomeReplayed, proxy.OutcomeRejected, proxy.OutcomeInvalid, proxy.OutcomeConflict,
		proxy.OutcomeInFlight, proxy.OutcomeRetryable, proxy.OutcomeDead, proxy.OutcomeQueued, proxy.OutcomeDisabled,
		proxy.OutcomeUnavailable, proxy.OutcomeSuspectReplay,
	}
	const integrations = 200
	w := newWatched(t)
	for i := range integrations {
		for _, outcome := range outcomes {
			w.Done(w.Begin(request()), proxy.Record{Scope: delivery.Scope(fmt.Sprintf("acme/i%d", i)), Outcome: outcome, Code: "a code"})
		}
	}
	for range 3 {
		lines := map[string]bool{}
		for line := range strings.Lines(w.page(t)) {
			lines[strings.TrimSpace(line)] = true
			if strings.Contains(line, "otel_metric_overflow") {
				t.Errorf("some have no series of their own: %s", line)
			}
		}
		missing := 0
		for i := range integrations {
			for _, outcome := range outcomes {
				if !lines[fmt.Sprintf(`webhook_deliveries_total{integration="acme/i%d",outcome=%q} 1`, i, outcome)] {
					missing++
				}
			}
		}
		if missing > 0 {
			t.Errorf("%d of %d are missing", missing, integrations*len(outcomes))
		}
	}
}

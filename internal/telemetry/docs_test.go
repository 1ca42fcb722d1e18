package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// everything lets each instrument and each span be seen once.
func everything(t *testing.T) *watched {
	t.Helper()
	w := newWatched(t)
	if err := telemetry.ObserveCache(w.providers.Meter, func() rediscache.Stats { return rediscache.Stats{} }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	attention, err := telemetry.NewAttention(w.providers.Meter, &scriptedOpen{done: cancel, open: []dedupe.Attention{{Scope: "a/b", State: dedupe.Dead}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := attention.ObserveForeign(w.providers.Meter, func(delivery.Scope) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if err := attention.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.ObserveEvidence(w.providers.Meter, time.Now); err != nil {
		t.Fatal(err)
	}
	attempt(t, w, worker.OutcomeQueued)
	if _, err := telemetry.NewSeal(slog.New(slog.DiscardHandler), w.providers.Meter, func() (time.Time, bool) { return time.Time{}, false }); err != nil {
		t.Fatal(err)
	}
	database, err := telemetry.NewDatabase(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)).Tracer("test"), w.providers.Meter)
	if err != nil {
		t.Fatal(err)
	}
	trip := database.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
	database.TraceQueryEnd(trip, nil, pgx.TraceQueryEndData{CommandTag: pgconn.NewCommandTag("INSERT 0 1")})
	trip = database.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
	database.TraceQueryEnd(trip, nil, pgx.TraceQueryEndData{Err: errors.New("away")})
	delivered := w.Begin(request())
	claim, claimed := w.Stage(delivered, proxy.StageClaim)
	w.Answered(claim, rediscache.Shared, time.Millisecond)
	claimed()
	for _, stage := range []proxy.Stage{proxy.StageRead, proxy.StageVerify, proxy.StageClaim, proxy.StageForward, proxy.StageSettle} {
		_, end := w.Stage(delivered, stage)
		end()
	}
	record := applied()
	record.Route, record.Reason = "/hooks/orders", "stale"
	record.Trace = "00-33333333333333333333333333333333-4444444444444444-00"
	for stage := range record.Stages {
		record.Stages[stage] = time.Millisecond
	}
	w.Done(delivered, record)
	w.Done(w.Begin(request()), proxy.Record{Outcome: proxy.OutcomeRejected, Reason: "stale"})
	return w
}

// The page of metrics and docs/telemetry.md name the same metrics, but for those of the configuration, which are the
// program's own and tested there.
func TestDocumentedMetricsAreTheMetrics(t *testing.T) {
	page, doc := everything(t).page(t), document(t)
	shown := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (webhook_\w+)`).FindAllStringSubmatch(page, -1) {
		shown[found[1]] = true
		if !strings.Contains(doc, "| `"+found[1]+"` |") {
			t.Errorf("docs/telemetry.md lacks %s", found[1])
		}
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `(webhook_\\w+)` \\|").FindAllStringSubmatch(doc, -1) {
		if !shown[found[1]] && !strings.HasPrefix(found[1], "webhook_config_") {
			t.Errorf("docs/telemetry.md has %s, and the page does not", found[1])
		}
	}
}

func TestDocumentedSpansAreTheSpans(t *testing.T) {
	doc := document(t)
	_, doc, _ = strings.Cut(doc, "## Traces")
	used := map[string]bool{}
	for _, span := range everything(t).spans.Ended() {
		used[span.Name()] = true
		for _, attribute := range span.Attributes() {
			used[string(attribute.Key)] = true
		}
		for _, link := range span.Links() {
			used[string(link.Attributes[0].Key)] = true
		}
	}
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(doc, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			documented[strings.Trim(name, "`")] = true
		}
	}
	for name := range used {
		if !documented[name] {
			t.Errorf("docs/telemetry.md lacks %s", name)
		}
	}
	for name := range documented {
		if !used[name] {
			t.Errorf("docs/telemetry.md has %s, and no span does", name)
		}
	}
}

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

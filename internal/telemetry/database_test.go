package telemetry_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// Against a real server: what pgx tells its tracer is what this is about.
func TestRoundTripsOfPostgreSQL(t *testing.T) {
	w := newWatched(t)
	spans := tracetest.NewSpanRecorder()
	database, err := telemetry.NewDatabase(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test"), w.providers.Meter)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Tracer = database
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE canary_table (v text PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	var batch pgx.Batch
	batch.Queue("SELECT set_config('lock_timeout', $1, true)", "1s")
	batch.Queue("INSERT INTO canary_table SELECT unnest($1::text[])", []string{"canary-a", "canary-b"})
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO canary_table VALUES ($1)", "canary-a"); err == nil {
		t.Fatal("a duplicate was taken")
	}
	var told strings.Builder
	for _, span := range spans.Ended() {
		told.WriteString(span.Name())
		for _, a := range span.Attributes() {
			told.WriteString(" " + string(a.Key) + "=" + a.Value.String())
		}
		told.WriteString("\n")
	}
	for _, want := range []string{"db.operation.name=CREATE", "db.operation.name=INSERT", "error.type=23505"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("no span has %s: %s", want, told.String())
		}
	}
	page := w.page(t)
	if !strings.Contains(page, `webhook_ledger_rows_sum{command="INSERT"} 2`) {
		t.Error("the rows of the batch are not measured")
	}
	if strings.Contains(told.String()+page, "canary") {
		t.Error("a statement or a value is shown")
	}
}

func TestWaitForRedisIsASpanOfTheClaim(t *testing.T) {
	w := newWatched(t)
	ctx := w.Begin(request())
	claim, end := w.Stage(ctx, proxy.StageClaim)
	w.Answered(claim, rediscache.Shared, 3*time.Millisecond)
	end()
	w.Done(ctx, proxy.Record{Err: errors.New("x")})
	spans := w.spans.Ended()
	redis, arrow := spans[0], spans[1]
	if redis.Name() != "redis" || redis.Parent().SpanID() != arrow.SpanContext().SpanID() || redis.EndTime().Sub(redis.StartTime()) != 3*time.Millisecond {
		t.Errorf("%s of %s below %s", redis.Name(), redis.EndTime().Sub(redis.StartTime()), arrow.Name())
	}
	if !has(arrow.Attributes(), "webhook.cache.tier", "redis") {
		t.Errorf("the claim's attributes %v", arrow.Attributes())
	}
}

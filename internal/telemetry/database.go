package telemetry

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Database is a tracer for pgx: a span and two measurements per round trip to PostgreSQL. It takes no argument and no
// statement from what it sees, only the command that PostgreSQL says it did. Deliveries share round trips, so these spans
// are traces of their own.
type Database struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
	rows     metric.Int64Histogram
	labels   labelSets
}

// Boundaries of the rows of a round trip: how well concurrent deliveries share commits.
var rowBounds = []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256} //nolint:gochecknoglobals // a constant that Go cannot say

// NewDatabase makes the tracer of the process.
func NewDatabase(tracer trace.Tracer, meter metric.Meter) (*Database, error) {
	duration, err := meter.Float64Histogram("webhook.ledger.duration", metric.WithUnit("s"),
		metric.WithDescription("Of one round trip to PostgreSQL, by command"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	rows, err2 := meter.Int64Histogram("webhook.ledger.rows",
		metric.WithDescription("Rows that one round trip to PostgreSQL wrote or read, by command"),
		metric.WithExplicitBucketBoundaries(rowBounds...))
	return &Database{tracer: tracer, duration: duration, rows: rows}, errors.Join(err, err2)
}

type tripKey struct{}

// trip is one round trip while it is under way. pgx calls its tracer from one goroutine per connection.
type trip struct {
	began   time.Time
	command string
	rows    int64
	span    trace.Span
}

func (d *Database) begin(ctx context.Context) context.Context {
	t := &trip{began: time.Now()}
	ctx, t.span = d.tracer.Start(ctx, "postgresql", trace.WithSpanKind(trace.SpanKindClient))
	return context.WithValue(ctx, tripKey{}, t)
}

// did keeps the last command that did anything: what is pipelined before it only sets the stage.
func (t *trip) did(tag pgconn.CommandTag) {
	if command, _, _ := strings.Cut(tag.String(), " "); command != "" {
		t.command, t.rows = command, tag.RowsAffected()
	}
}

func (d *Database) end(ctx context.Context, err error) {
	t, under := ctx.Value(tripKey{}).(*trip)
	if !under {
		return
	}
	if t.command == "" {
		t.command = "none"
	}
	of := d.labels.of(series{key: "command", value: t.command})
	d.duration.Record(ctx, time.Since(t.began).Seconds(), of.record...)
	if err == nil {
		d.rows.Record(ctx, t.rows, of.record...)
	}
	if t.span.IsRecording() {
		t.span.SetAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.operation.name", t.command))
		if err != nil {
			t.span.SetAttributes(attribute.String("error.type", errorType(err)))
			t.span.SetStatus(codes.Error, "")
		}
	}
	t.span.End()
}

// errorType is the SQLSTATE: the text of an error may quote a value.
func errorType(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return "connection"
}

// TraceBatchStart implements pgx.BatchTracer.
func (d *Database) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return d.begin(ctx)
}

// TraceBatchQuery implements pgx.BatchTracer.
func (d *Database) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if t, under := ctx.Value(tripKey{}).(*trip); under {
		t.did(data.CommandTag)
	}
}

// TraceBatchEnd implements pgx.BatchTracer.
func (d *Database) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	d.end(ctx, data.Err)
}

// TraceQueryStart implements pgx.QueryTracer.
func (d *Database) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return d.begin(ctx)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (d *Database) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if t, under := ctx.Value(tripKey{}).(*trip); under {
		t.did(data.CommandTag)
	}
	d.end(ctx, data.Err)
}

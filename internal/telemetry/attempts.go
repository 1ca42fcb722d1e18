package telemetry

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
)

// Attempts is a worker.Watch that logs, counts and traces the attempts at stored jobs. Safe for concurrent use.
type Attempts struct {
	watch     *Watch
	attempts  metric.Int64Counter
	durations metric.Float64Histogram
	waits     metric.Float64Histogram
}

// NewAttempts makes the worker's part of a process's Watch.
func NewAttempts(watch *Watch, meter metric.Meter) (*Attempts, error) {
	a := &Attempts{watch: watch}
	var errs [3]error
	a.attempts, errs[0] = meter.Int64Counter("webhook.attempts",
		metric.WithDescription("Attempts at stored jobs, by integration and what became of them"))
	a.durations, errs[1] = meter.Float64Histogram("webhook.attempt.duration", metric.WithUnit("s"),
		metric.WithDescription("Of an attempt at a stored job, by outcome"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	a.waits, errs[2] = meter.Float64Histogram("webhook.job.wait", metric.WithUnit("s"),
		metric.WithDescription("From when a stored job was due to when a worker claimed it"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	return a, errors.Join(errs[:]...)
}

// Begin starts the attempt's own trace, linked to that of the event's first delivery.
func (a *Attempts) Begin(first string) context.Context {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)}
	if original := parse(first); original.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{
			SpanContext: original, Attributes: []attribute.KeyValue{attribute.String("webhook.link", "original")},
		}))
	}
	ctx, _ := a.watch.tracer.Start(context.Background(), "webhook attempt", options...)
	return ctx
}

// Stage starts a span for an arrow where the attempt's trace is recorded at all.
func (a *Attempts) Stage(ctx context.Context, s worker.Stage) (context.Context, func()) {
	return a.watch.arrow(ctx, string(s), s == worker.StageForward)
}

// TraceParent is the context as the application gets it.
func (a *Attempts) TraceParent(ctx context.Context) string { return a.watch.TraceParent(ctx) }

// Done writes the one log record of an attempt, counts it and ends its trace.
func (a *Attempts) Done(ctx context.Context, r worker.Record) {
	outcome, sets := string(r.Outcome), &a.watch.metrics.sets
	integration := a.watch.metrics.scopes.label(r.Scope)
	a.attempts.Add(ctx, 1, sets.of(series{"integration", integration, "outcome", outcome}).add...)
	of := sets.of(series{key: "outcome", value: outcome})
	a.durations.Record(ctx, (r.Forward + r.Settle).Seconds(), exemplified(ctx, of, r.Reference)...)
	a.waits.Record(ctx, r.Waited.Seconds())
	a.watch.log.LogAttrs(ctx, attemptLevel(r), "attempt", attemptAttributes(ctx, r)...)
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		describeAttempt(span, r)
	}
	span.End()
}

// attemptLevel is error for our own faults, warn for what a person must look at, and info for the rest.
func attemptLevel(r worker.Record) slog.Level {
	switch r.Outcome { //nolint:exhaustive // the others are ordinary
	case worker.OutcomeUnrecorded:
		return slog.LevelError
	case worker.OutcomeDead, worker.OutcomeLost:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func attemptAttributes(ctx context.Context, r worker.Record) []slog.Attr {
	attrs := make([]slog.Attr, 0, 18)
	attrs = append(attrs, slog.String("outcome", string(r.Outcome)), slog.String("scope", string(r.Scope)),
		slog.String("event", r.Reference))
	attrs = appendText(attrs, "event_type", r.EventType)
	attrs = appendText(attrs, "credential", r.CredentialID)
	attrs = appendText(attrs, "reason", r.Reason)
	if r.Status > 0 {
		attrs = append(attrs, slog.Int("status", r.Status))
	}
	attrs = append(attrs, slog.Int("attempt", r.Attempt), slog.Int64("event_age_ms", r.EventAge.Milliseconds()),
		slog.Int("body_bytes", r.BodyBytes), slog.Int64("waited_us", r.Waited.Microseconds()),
		slog.Int64("forward_us", r.Forward.Microseconds()), slog.Int64("settle_us", r.Settle.Microseconds()))
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	return attrs
}

func describeAttempt(span trace.Span, r worker.Record) {
	for key, value := range map[string]string{
		"webhook.outcome": string(r.Outcome), "webhook.scope": string(r.Scope), "webhook.credential.id": r.CredentialID,
		"webhook.event.reference": r.Reference, "webhook.event.type": r.EventType, "webhook.reason": r.Reason,
	} {
		if value != "" {
			span.SetAttributes(attribute.String(key, value))
		}
	}
	span.SetAttributes(attribute.Int("webhook.attempt", r.Attempt))
	if r.Status > 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", r.Status))
	}
	if r.Outcome != worker.OutcomeApplied {
		span.SetStatus(codes.Error, r.Reason)
	}
}

// ObserveForeign adds a gauge of the queued jobs that nobody here works off, because no integration of this process has
// their scope.
func (a *Attention) ObserveForeign(meter metric.Meter, known func(delivery.Scope) bool) error {
	gauge, err := meter.Int64ObservableGauge("webhook.jobs.foreign",
		metric.WithDescription("Queued jobs of scopes that no integration of this process has: nobody here works them off"))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		open := a.last.Load()
		if open == nil {
			return nil
		}
		var foreign int64
		for _, entry := range *open {
			if entry.State == dedupe.Queued && !known(entry.Scope) {
				foreign += entry.Count
			}
		}
		o.ObserveInt64(gauge, foreign)
		return nil
	}, gauge)
	return err
}

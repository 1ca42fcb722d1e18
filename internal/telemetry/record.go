package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// level is error for our own faults, warn for what a person may want to look at, and info for the rest.
func level(r proxy.Record) slog.Level {
	switch r.Outcome { //nolint:exhaustive // the others are ordinary
	case proxy.OutcomeUnavailable, proxy.OutcomeUnrecorded:
		return slog.LevelError
	case proxy.OutcomeDead, proxy.OutcomeSuspectReplay, proxy.OutcomeConflict:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// attributes are the fields of a delivery's log record. What is not known is left out.
func attributes(ctx context.Context, r proxy.Record) []slog.Attr {
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs, slog.String("outcome", string(r.Outcome)), slog.Int("status", r.Status))
	attrs = appendText(attrs, "scope", string(r.Scope))
	attrs = appendText(attrs, "event", r.Reference)
	attrs = appendText(attrs, "event_type", r.EventType)
	attrs = appendText(attrs, "credential", r.CredentialID)
	attrs = appendText(attrs, "code", r.Code)
	attrs = appendText(attrs, "reason", r.Reason)
	if r.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", r.Attempt), slog.Float64("event_age_ms", milliseconds(r.EventAge)))
	}
	attrs = append(attrs, slog.Int("body_bytes", r.BodyBytes), slog.Float64("total_ms", milliseconds(r.Total)))
	for stage, took := range r.Stages {
		if took > 0 {
			attrs = append(attrs, slog.Float64(proxy.Stage(stage).String()+"_ms", milliseconds(took)))
		}
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	return attrs
}

func appendText(attrs []slog.Attr, key, value string) []slog.Attr {
	if value == "" {
		return attrs
	}
	return append(attrs, slog.String(key, value))
}

// milliseconds keeps microseconds.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

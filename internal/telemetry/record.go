package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// level is error for our own faults, warn for what a person may want to look at, and info for the rest.
func level(r proxy.Record) slog.Level {
	if r.LostAttempt > 0 && r.Outcome != proxy.OutcomeUnrecorded {
		return slog.LevelWarn
	}
	switch r.Outcome { //nolint:exhaustive // the others are ordinary
	case proxy.OutcomeUnavailable, proxy.OutcomeUnrecorded, proxy.OutcomeBrokenOff:
		return slog.LevelError
	case proxy.OutcomeDead, proxy.OutcomeSuspectReplay, proxy.OutcomeConflict:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// stageKeys are the names of the arrows' durations. Whole microseconds: slog writes floats the slow way.
var stageKeys = [...]string{"read_us", "verify_us", "claim_us", "forward_us", "settle_us"} //nolint:gochecknoglobals // a constant that Go cannot say

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
		attrs = append(attrs, slog.Int("attempt", r.Attempt), slog.Int64("event_age_ms", r.EventAge.Milliseconds()))
	}
	if r.LostAttempt > 0 {
		attrs = append(attrs, slog.Int("lost_attempt", r.LostAttempt), slog.Int("lost_status", r.LostStatus))
	}
	attrs = append(attrs, slog.Int("body_bytes", r.BodyBytes), slog.Int64("total_us", r.Total.Microseconds()))
	for stage, took := range r.Stages {
		if took > 0 {
			attrs = append(attrs, slog.Int64(stageKeys[stage], took.Microseconds()))
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

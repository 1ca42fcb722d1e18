package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// Watch is a proxy.Watch that logs, counts and traces. Safe for concurrent use.
type Watch struct {
	log     *slog.Logger
	tracer  trace.Tracer
	metrics *metrics
	sender  propagation.TraceContext
	begin   []trace.SpanStartOption // of every delivery
}

// NewWatch makes the Watch of the process.
func NewWatch(log *slog.Logger, tracer trace.Tracer, meter metric.Meter) (*Watch, error) {
	metrics, err := newMetrics(meter)
	if err != nil {
		return nil, err
	}
	begin := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	return &Watch{log: log, tracer: tracer, metrics: metrics, begin: slices.Clip(begin)}, nil
}

// Begin starts the delivery's own trace. The sender is a stranger: its trace context is linked, never continued, and its
// baggage is dropped. Nothing of the request's own context is needed, and it ends with the sender.
func (w *Watch) Begin(r *http.Request) context.Context {
	ctx := context.Background()
	w.metrics.tallies.inFlight.Add(1)
	options := w.begin
	if r.Header.Get("Traceparent") != "" {
		theirs := w.sender.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
		if link := trace.LinkFromContext(theirs, attribute.String("webhook.link", "sender")); link.SpanContext.IsValid() {
			options = append(options, trace.WithLinks(link))
		}
	}
	ctx, span := w.tracer.Start(ctx, "webhook delivery", options...)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("http.request.method", method(r.Method)))
	}
	return ctx
}

// method keeps a stranger from inventing values.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "_OTHER"
}

// Stage starts a span for an arrow where the delivery's trace is recorded at all.
func (w *Watch) Stage(ctx context.Context, s proxy.Stage) (context.Context, func()) {
	return w.arrow(ctx, s.String(), s == proxy.StageForward)
}

// arrow starts a span that is a call of somebody else, or one of our own.
func (w *Watch) arrow(ctx context.Context, name string, call bool) (context.Context, func()) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func() {}
	}
	kind := trace.SpanKindInternal
	if call {
		kind = trace.SpanKindClient
	}
	ctx, span := w.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, func() { span.End() }
}

// TraceParent is the context as the application gets it.
func (w *Watch) TraceParent(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return ""
	}
	var parent [55]byte
	copy(parent[:], "00-")
	traceID, spanID := span.TraceID(), span.SpanID()
	hexInto(parent[3:], traceID[:])
	parent[35] = '-'
	hexInto(parent[36:], spanID[:])
	copy(parent[52:], "-00")
	if span.IsSampled() {
		parent[54] = '1'
	}
	return string(parent[:])
}

func hexInto(to, from []byte) {
	const digits = "0123456789abcdef"
	for i, b := range from {
		to[2*i], to[2*i+1] = digits[b>>4], digits[b&0xf]
	}
}

// Done writes the one log record of a delivery, counts it and ends its trace.
func (w *Watch) Done(ctx context.Context, r proxy.Record) {
	w.metrics.tallies.inFlight.Add(-1)
	w.metrics.count(ctx, &r)
	w.log.LogAttrs(ctx, level(r), "delivery", attributes(ctx, r)...)
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		describeSpan(span, r)
	}
	span.End()
}

func describeSpan(span trace.Span, r proxy.Record) {
	span.SetAttributes(attribute.String("webhook.outcome", string(r.Outcome)))
	if r.Status > 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", r.Status))
	}
	for key, value := range map[string]string{
		"webhook.scope": string(r.Scope), "webhook.credential.id": r.CredentialID, "webhook.event.reference": r.Reference,
		"webhook.event.type": r.EventType, "webhook.reason": r.Reason, "http.route": r.Route,
	} {
		if value != "" {
			span.SetAttributes(attribute.String(key, value))
		}
	}
	if r.Attempt > 0 {
		span.SetAttributes(attribute.Int("webhook.attempt", r.Attempt))
	}
	switch {
	case r.Status >= http.StatusInternalServerError:
		span.SetStatus(codes.Error, r.Code)
	case r.Outcome == proxy.OutcomeBrokenOff:
		span.SetStatus(codes.Error, string(r.Outcome))
	}
	if first := parse(r.Trace); first.IsValid() && first.TraceID() != span.SpanContext().TraceID() {
		span.AddLink(trace.Link{SpanContext: first, Attributes: []attribute.KeyValue{attribute.String("webhook.link", "original")}})
	}
}

func parse(parent string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": parent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
)

// Answered implements rediscache.Observer: it says on the claim's span who answered, and how long Redis was waited for.
// Deliveries share commands to Redis, so the span is the delivery's wait, and carries no key.
func (w *Watch) Answered(ctx context.Context, tier rediscache.Tier, redis time.Duration) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("webhook.cache.tier", tier.String()))
	if redis <= 0 {
		return
	}
	end := time.Now()
	_, wait := w.tracer.Start(ctx, "redis", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(end.Add(-redis)),
		trace.WithAttributes(attribute.String("db.system.name", "redis"), attribute.String("db.operation.name", "GET")))
	wait.End(trace.WithTimestamp(end))
}

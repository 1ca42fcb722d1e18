package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
)

// exemplarEvent is the event's reference on an exemplar, beside the trace that it belongs to. It never becomes a label.
const exemplarEvent = "event"

// exemplified adds the event to what a measurement of a sampled trace carries. Others have no exemplar, and cost nothing.
func exemplified(ctx context.Context, l *labels, reference string) []metric.RecordOption {
	if reference == "" || !trace.SpanContextFromContext(ctx).IsSampled() {
		return l.record
	}
	return append(l.record[:len(l.record):len(l.record)], metric.WithAttributes(attribute.String(exemplarEvent, reference)))
}

// exemplarViews keep the event off the series, which leaves it to their exemplars.
func exemplarViews() []sdkmetric.View {
	var views []sdkmetric.View
	for _, name := range []string{"webhook.delivery.duration", "webhook.attempt.duration"} {
		views = append(views, sdkmetric.NewView(sdkmetric.Instrument{Name: name},
			sdkmetric.Stream{AttributeFilter: attribute.NewDenyKeysFilter(exemplarEvent)}))
	}
	return views
}

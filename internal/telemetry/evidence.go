package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// ObserveEvidence registers the gauge of how long ago all evidence was seen sealed; sealed is asked at each scrape, and
// zero is not yet.
func ObserveEvidence(meter metric.Meter, sealed func() time.Time) error {
	_, err := meter.Float64ObservableGauge("webhook.evidence.sealed_age", metric.WithUnit("s"),
		metric.WithDescription("Since this process last saw all evidence sealed by checkpoints"),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			if at := sealed(); !at.IsZero() {
				o.Observe(time.Since(at).Seconds())
			}
			return nil
		}))
	return err
}

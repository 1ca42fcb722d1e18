package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// ObserveEvidence registers the gauge of how long ago all evidence was seen sealed; sealed is asked at each scrape, and
// zero is not yet: then the age is that of the registration, so that nobody who cannot seal at all goes unnoticed.
func ObserveEvidence(meter metric.Meter, sealed func() time.Time) error {
	start := time.Now()
	_, err := meter.Float64ObservableGauge("webhook.evidence.sealed_age", metric.WithUnit("s"),
		metric.WithDescription("Since this process last saw all evidence sealed by checkpoints, or since its start"),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			at := sealed()
			if at.IsZero() {
				at = start
			}
			o.Observe(time.Since(at).Seconds())
			return nil
		}))
	return err
}

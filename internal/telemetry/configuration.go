package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Configuration is what a reloader tells about the integrations in force.
type Configuration interface {
	// Loaded is when the set in force was read; zero: never.
	Loaded() time.Time
	// Invalid tells that the newest file was refused and an older set is in force.
	Invalid() bool
}

// ObserveConfiguration registers the gauges of the configuration.
func ObserveConfiguration(meter metric.Meter, c Configuration, now func() time.Time) error {
	age, err := meter.Float64ObservableGauge("webhook.configuration.age", metric.WithUnit("s"),
		metric.WithDescription("Since the integrations in force were read"))
	invalid, err2 := meter.Int64ObservableGauge("webhook.configuration.invalid",
		metric.WithDescription("1 while the newest integrations file is refused and an older set is in force"))
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if loaded := c.Loaded(); !loaded.IsZero() {
			o.ObserveFloat64(age, now().Sub(loaded).Seconds())
		}
		var refused int64
		if c.Invalid() {
			refused = 1
		}
		o.ObserveInt64(invalid, refused)
		return nil
	}, age, invalid)
	return err
}

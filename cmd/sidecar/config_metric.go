package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// watchConfig measures whether the file says what is in force.
func (s *server) watchConfig() error {
	invalid, err := s.telemetry.Meter.Float64ObservableGauge("webhook.config.invalid", metric.WithUnit("s"),
		metric.WithDescription("For how long the integrations file has been invalid while an older set stays in force; 0: it is valid"))
	age, ageErr := s.telemetry.Meter.Float64ObservableGauge("webhook.config.age", metric.WithUnit("s"),
		metric.WithDescription("Since the files were last seen to say what is in force"))
	if err := errors.Join(err, ageErr); err != nil {
		return err
	}
	_, err = s.telemetry.Meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		seconds := 0.0
		if since, is := s.active.invalidSince(); is {
			seconds = time.Since(since).Seconds()
		}
		o.ObserveFloat64(invalid, seconds)
		o.ObserveFloat64(age, time.Since(s.refreshed()).Seconds())
		return nil
	}, invalid, age)
	return err
}

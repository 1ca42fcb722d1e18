package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
)

// watchConfig measures whether the file says what is in force.
func (s *server) watchConfig() error {
	invalid, err := s.telemetry.Meter.Float64ObservableGauge("webhook.config.invalid", metric.WithUnit("s"),
		metric.WithDescription("For how long the integrations file has been invalid while an older set stays in force; 0: it is valid"))
	age, ageErr := s.telemetry.Meter.Float64ObservableGauge("webhook.config.age", metric.WithUnit("s"),
		metric.WithDescription("Since the files were last seen to say what is in force"))
	propagation, lastErr := s.telemetry.Meter.Float64ObservableGauge("webhook.config.propagation", metric.WithUnit("s"),
		metric.WithDescription("From the last change of the files to its effect, as this replica measured it; 0: none yet"))
	worst, worstErr := s.telemetry.Meter.Float64ObservableGauge("webhook.config.propagation.worst", metric.WithUnit("s"),
		metric.WithDescription("The longest of them since the start"))
	bound, boundErr := s.telemetry.Meter.Float64ObservableGauge("webhook.config.propagation.bound", metric.WithUnit("s"),
		metric.WithDescription("What is declared for it: SIDECAR_RELOAD_INTERVAL"))
	if err := errors.Join(err, ageErr, lastErr, worstErr, boundErr); err != nil {
		return err
	}
	_, err = s.telemetry.Meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		seconds := 0.0
		if since, is := s.active.invalidSince(); is {
			seconds = time.Since(since).Seconds()
		}
		o.ObserveFloat64(invalid, seconds)
		o.ObserveFloat64(age, time.Since(s.refreshed()).Seconds())
		took := s.propagation()
		o.ObserveFloat64(propagation, took.Last.Seconds())
		o.ObserveFloat64(worst, took.Worst.Seconds())
		o.ObserveFloat64(bound, time.Duration(s.settings.ReloadInterval).Seconds())
		return nil
	}, invalid, age, propagation, worst, bound)
	return err
}

// propagation is how long changes of the files took to their effect.
func (s *server) propagation() reload.Propagation {
	if s.configFiles == nil {
		return reload.Propagation{}
	}
	return s.configFiles.Propagation()
}

package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// metrics are the instruments of deliveries. docs/telemetry.md describes each.
type metrics struct {
	scopes      scopeLabels
	sets        sync.Map // series → metric.MeasurementOption
	deliveries  metric.Int64Counter
	rejections  metric.Int64Counter
	credentials metric.Int64Counter
	inFlight    metric.Int64UpDownCounter
	durations   metric.Float64Histogram
	stages      metric.Float64Histogram
}

// series names one time series: an instrument's labels in a comparable form.
type series struct{ first, second string }

// Boundaries of the duration histograms, in seconds: from a duplicate answered from memory to an attempt of a minute.
var durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60} //nolint:gochecknoglobals // a constant that Go cannot say

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := &metrics{}
	var errs [6]error
	m.deliveries, errs[0] = meter.Int64Counter("webhook.deliveries",
		metric.WithDescription("Requests on guarded paths, by integration and what became of them"))
	m.rejections, errs[1] = meter.Int64Counter("webhook.rejections",
		metric.WithDescription("Deliveries that were refused, by integration and reason"))
	m.credentials, errs[2] = meter.Int64Counter("webhook.credential.uses",
		metric.WithDescription("Deliveries that verified, by integration and status of the credential"))
	m.inFlight, errs[3] = meter.Int64UpDownCounter("webhook.deliveries.in_flight",
		metric.WithDescription("Requests on guarded paths that are being handled"))
	m.durations, errs[4] = meter.Float64Histogram("webhook.delivery.duration", metric.WithUnit("s"),
		metric.WithDescription("From the header section to the written answer, by outcome"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	m.stages, errs[5] = meter.Float64Histogram("webhook.stage.duration", metric.WithUnit("s"),
		metric.WithDescription("Of one arrow of a delivery"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	return m, errors.Join(errs[:]...)
}

// labels returns the measurement option of a series, made once.
func (m *metrics) labels(firstKey, first, secondKey, second string) metric.MeasurementOption {
	key := series{firstKey + "=" + first, secondKey + "=" + second}
	if option, known := m.sets.Load(key); known {
		return option.(metric.MeasurementOption) //nolint:forcetypeassert // nothing else is stored
	}
	pairs := []attribute.KeyValue{attribute.String(firstKey, first)}
	if secondKey != "" {
		pairs = append(pairs, attribute.String(secondKey, second))
	}
	option := metric.WithAttributeSet(attribute.NewSet(pairs...))
	m.sets.Store(key, option)
	return option
}

// count adds one finished request to the instruments.
func (m *metrics) count(ctx context.Context, r proxy.Record) {
	scope := m.scopes.label(r.Scope)
	m.deliveries.Add(ctx, 1, m.labels("integration", scope, "outcome", string(r.Outcome)))
	m.durations.Record(ctx, r.Total.Seconds(), m.labels("outcome", string(r.Outcome), "", ""))
	if reason := refusedBecause(r); reason != "" {
		m.rejections.Add(ctx, 1, m.labels("integration", scope, "reason", reason))
	}
	if r.CredentialID != "" {
		m.credentials.Add(ctx, 1, m.labels("integration", scope, "status", credentialStatus(r)))
	}
	for stage, took := range r.Stages {
		if took > 0 {
			m.stages.Record(ctx, took.Seconds(), m.labels("stage", proxy.Stage(stage).String(), "", ""))
		}
	}
}

// refusedBecause is the reason of a refusal: the verifier's where there is one, else the problem's code.
func refusedBecause(r proxy.Record) string {
	switch r.Outcome { //nolint:exhaustive // the others are no refusals
	case proxy.OutcomeRejected, proxy.OutcomeInvalid, proxy.OutcomeDisabled, proxy.OutcomeClosedPath, proxy.OutcomeUnavailable:
		if r.Reason != "" {
			return r.Reason
		}
		return r.Code
	}
	return ""
}

func credentialStatus(r proxy.Record) string {
	if r.Retiring {
		return "retiring"
	}
	return "active"
}

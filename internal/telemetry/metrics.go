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
	sets        sync.Map // series → *labels
	deliveries  metric.Int64Counter
	duplicates  metric.Int64Counter
	rejections  metric.Int64Counter
	credentials metric.Int64Counter
	inFlight    metric.Int64UpDownCounter
	durations   metric.Float64Histogram
	stages      metric.Float64Histogram
}

// series names one time series: its labels' keys and values in a comparable form.
type series struct{ key, value, key2, value2 string }

// Boundaries of the duration histograms, in seconds: from a duplicate answered from memory to an attempt of a minute.
var durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60} //nolint:gochecknoglobals // a constant that Go cannot say

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := &metrics{}
	var errs [7]error
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
	m.duplicates, errs[6] = meter.Int64Counter("webhook.duplicates",
		metric.WithDescription("Deliveries of an event that was known, which brought neither an attempt nor a job, by integration"))
	return m, errors.Join(errs[:]...)
}

// labels are the options of a series in the forms that the instruments take, made once: making a set of attributes costs
// more than counting.
type labels struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// of returns the labels of a series. key2 may be empty.
func (m *metrics) of(s series) *labels {
	if known, found := m.sets.Load(s); found {
		return known.(*labels) //nolint:forcetypeassert // nothing else is stored
	}
	pairs := []attribute.KeyValue{attribute.String(s.key, s.value)}
	if s.key2 != "" {
		pairs = append(pairs, attribute.String(s.key2, s.value2))
	}
	option := metric.WithAttributeSet(attribute.NewSet(pairs...))
	made := &labels{add: []metric.AddOption{option}, record: []metric.RecordOption{option}}
	m.sets.Store(s, made)
	return made
}

// count adds one finished request to the instruments.
func (m *metrics) count(ctx context.Context, r proxy.Record) {
	scope, outcome := m.scopes.label(r.Scope), string(r.Outcome)
	m.deliveries.Add(ctx, 1, m.of(series{"integration", scope, "outcome", outcome}).add...)
	m.durations.Record(ctx, r.Total.Seconds(), exemplified(ctx, m.of(series{key: "outcome", value: outcome}), r.Reference)...)
	if r.Duplicate {
		m.duplicates.Add(ctx, 1, m.of(series{key: "integration", value: scope}).add...)
	}
	if reason := refusedBecause(r); reason != "" {
		m.rejections.Add(ctx, 1, m.of(series{"integration", scope, "reason", reason}).add...)
	}
	if r.CredentialID != "" {
		m.credentials.Add(ctx, 1, m.of(series{"integration", scope, "status", credentialStatus(r)}).add...)
	}
	for stage, took := range r.Stages {
		if took > 0 {
			m.stages.Record(ctx, took.Seconds(), m.of(series{key: "stage", value: proxy.Stage(stage).String()}).record...)
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

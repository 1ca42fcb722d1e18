package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// metrics are the instruments of deliveries. docs/telemetry.md describes each.
type metrics struct {
	scopes    scopeLabels
	sets      labelSets
	tallies   tallies
	durations metric.Float64Histogram
	stages    metric.Float64Histogram
	arrows    [len(proxy.Record{}.Stages)]*labels // of the stages
}

// Boundaries of the duration histograms, in seconds: from a duplicate answered from memory to an attempt of a minute.
var durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60} //nolint:gochecknoglobals // a constant that Go cannot say

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := &metrics{}
	var errs [3]error
	errs[0] = m.tallies.observe(meter, &m.sets)
	m.durations, errs[1] = meter.Float64Histogram("webhook.delivery.duration", metric.WithUnit("s"),
		metric.WithDescription("From the header section to the written answer, by outcome"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	m.stages, errs[2] = meter.Float64Histogram("webhook.stage.duration", metric.WithUnit("s"),
		metric.WithDescription("Of one arrow of a delivery"),
		metric.WithExplicitBucketBoundaries(durationBounds...))
	for stage := range m.arrows {
		m.arrows[stage] = newLabels(series{key: "stage", value: proxy.Stage(stage).String()})
	}
	return m, errors.Join(errs[:]...)
}

// count adds one finished request to the instruments.
func (m *metrics) count(ctx context.Context, r *proxy.Record) {
	m.tallies.add(kind{
		integration: m.scopes.label(r.Scope), outcome: r.Outcome, refusal: refusedBecause(r), credential: credentialStatus(r),
		duplicate: r.Duplicate,
	})
	of := m.sets.of(series{key: "outcome", value: string(r.Outcome)})
	m.durations.Record(ctx, r.Total.Seconds(), exemplified(ctx, of, r.Reference)...)
	for stage, took := range r.Stages {
		if took > 0 {
			m.stages.Record(ctx, took.Seconds(), m.arrows[stage].record...)
		}
	}
}

// refusedBecause is the reason of a refusal: the verifier's where there is one, else the problem's code; empty: no refusal.
func refusedBecause(r *proxy.Record) string {
	switch r.Outcome { //nolint:exhaustive // the others are no refusals
	case proxy.OutcomeRejected, proxy.OutcomeInvalid, proxy.OutcomeDisabled, proxy.OutcomeClosedPath, proxy.OutcomeUnavailable:
		if r.Reason != "" {
			return r.Reason
		}
		return r.Code
	}
	return ""
}

// credentialStatus is that of the credential that verified; empty: none did.
func credentialStatus(r *proxy.Record) string {
	switch {
	case r.CredentialID == "":
		return ""
	case r.Retiring:
		return "retiring"
	}
	return "active"
}

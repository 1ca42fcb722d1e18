package telemetry

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// kind is what the counters tell of a delivery: all that is a label of one of them. Every part is from a closed set, or
// bounded like the integrations.
type kind struct {
	integration string
	outcome     proxy.Outcome
	refusal     string // why it was refused; empty: it was not
	credential  string // the status of the one that verified; empty: none did
	duplicate   bool
}

// tallies counts deliveries by kind: one addition for each, whatever number of counters it is in. Those are read off when
// somebody asks. Safe for concurrent use.
type tallies struct {
	kinds    lookup[kind, *atomic.Int64]
	inFlight atomic.Int64
}

func (t *tallies) add(k kind) { t.kinds.get(k, newTally).Add(1) }

func newTally(kind) *atomic.Int64 { return new(atomic.Int64) }

// counter is one of the counters: which kinds it counts, and in which series.
type counter struct {
	name, description string
	counts            func(kind) (series, bool)
}

func counters() []counter {
	return []counter{
		{"webhook.deliveries", "Requests on guarded paths, by integration and what became of them", func(k kind) (series, bool) {
			return series{"integration", k.integration, "outcome", string(k.outcome)}, true
		}},
		{"webhook.rejections", "Deliveries that were refused, by integration and reason", func(k kind) (series, bool) {
			return series{"integration", k.integration, "reason", k.refusal}, k.refusal != ""
		}},
		{"webhook.credential.uses", "Deliveries that verified, by integration and status of the credential", func(k kind) (series, bool) {
			return series{"integration", k.integration, "status", k.credential}, k.credential != ""
		}},
		{"webhook.duplicates", "Deliveries of an event that was known, which brought neither an attempt nor a job, by integration",
			func(k kind) (series, bool) { return series{key: "integration", value: k.integration}, k.duplicate }},
	}
}

// observe registers the counters, and the gauge of what is in flight.
func (t *tallies) observe(meter metric.Meter, sets *labelSets) error {
	_, err := meter.Int64ObservableUpDownCounter("webhook.deliveries.in_flight",
		metric.WithDescription("Requests on guarded paths that are being handled"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(t.inFlight.Load())
			return nil
		}))
	errs := []error{err}
	for _, c := range counters() {
		_, err := meter.Int64ObservableCounter(c.name, metric.WithDescription(c.description),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				for s, sum := range t.sums(c) {
					o.Observe(sum, sets.of(s).observe...)
				}
				return nil
			}))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sums is a counter as it stands.
func (t *tallies) sums(c counter) map[series]int64 {
	sums := map[series]int64{}
	for k, tally := range t.kinds.all() {
		if s, counted := c.counts(k); counted {
			sums[s] += tally.Load()
		}
	}
	return sums
}

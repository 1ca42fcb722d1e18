package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/rediscache"
)

// cacheInstruments show what the memory of finished events does.
type cacheInstruments struct {
	lookups  metric.Int64ObservableCounter
	faults   metric.Int64ObservableCounter
	stored   metric.Int64ObservableCounter
	entries  metric.Int64ObservableGauge
	bytes    metric.Int64ObservableGauge
	breaking metric.Int64ObservableGauge
}

// ObserveCache registers the instruments of the cache; stats is asked at each scrape.
func ObserveCache(meter metric.Meter, stats func() rediscache.Stats) error {
	var c cacheInstruments
	var errs [6]error
	c.lookups, errs[0] = meter.Int64ObservableCounter("webhook.cache.lookups",
		metric.WithDescription("Deliveries by who answered: local memory, redis, a stale value of redis, or the ledger"))
	c.faults, errs[1] = meter.Int64ObservableCounter("webhook.cache.faults",
		metric.WithDescription("What went wrong with Redis, by kind; no delivery is refused for it"))
	c.stored, errs[2] = meter.Int64ObservableCounter("webhook.cache.stored",
		metric.WithDescription("Results that Redis was asked to keep"))
	c.entries, errs[3] = meter.Int64ObservableGauge("webhook.cache.local.entries",
		metric.WithDescription("Finished events in local memory"))
	c.bytes, errs[4] = meter.Int64ObservableGauge("webhook.cache.local.size", metric.WithUnit("By"),
		metric.WithDescription("Local memory, its own overhead included"))
	c.breaking, errs[5] = meter.Int64ObservableGauge("webhook.cache.redis.open",
		metric.WithDescription("1 while Redis is not asked, because it does not answer"))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c.observe(o, stats())
		return nil
	}, c.lookups, c.faults, c.stored, c.entries, c.bytes, c.breaking)
	return err
}

func (c *cacheInstruments) observe(o metric.Observer, s rediscache.Stats) {
	for tier, count := range map[rediscache.Tier]uint64{
		rediscache.Local: s.Local, rediscache.Shared: s.Shared, rediscache.Stale: s.Stale, rediscache.Ledger: s.Ledger,
	} {
		o.ObserveInt64(c.lookups, int64(count), metric.WithAttributes(attribute.String("tier", tier.String()))) //nolint:gosec // counts
	}
	for kind, count := range map[string]uint64{
		"error": s.Errors, "foreign": s.Foreign, "dropped": s.Dropped, "unmarked": s.Unmarked, "unopened": s.Unopened,
	} {
		o.ObserveInt64(c.faults, int64(count), metric.WithAttributes(attribute.String("kind", kind))) //nolint:gosec // counts
	}
	o.ObserveInt64(c.stored, int64(s.Stored)) //nolint:gosec // counts
	o.ObserveInt64(c.entries, int64(s.Entries))
	o.ObserveInt64(c.bytes, int64(s.Bytes))
	var open int64
	if s.Open {
		open = 1
	}
	o.ObserveInt64(c.breaking, open)
}

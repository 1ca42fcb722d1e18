package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Seal is a seal.Watch that counts what could not be opened, and logs the stored requests among it; a delivery that was
// refused for it has its own record. Safe for concurrent use.
type Seal struct {
	log      *slog.Logger
	unopened metric.Int64Counter
}

// NewSeal registers what is measured of sealing. InvalidSince tells since when the key file has been invalid, or false.
func NewSeal(log *slog.Logger, meter metric.Meter, invalidSince func() (time.Time, bool)) (*Seal, error) {
	unopened, err := meter.Int64Counter("webhook.seal.unopened",
		metric.WithDescription("What a delivery or the worker wanted and no key at hand opens, by kind: request or result"))
	invalid, invalidErr := meter.Float64ObservableGauge("webhook.seal.invalid", metric.WithUnit("s"),
		metric.WithDescription("For how long the file of seal keys has been invalid while older keys stay in force; 0: it is valid"))
	if err := errors.Join(err, invalidErr); err != nil {
		return nil, err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		seconds := 0.0
		if since, is := invalidSince(); is {
			seconds = time.Since(since).Seconds()
		}
		o.ObserveFloat64(invalid, seconds)
		return nil
	}, invalid)
	for _, kind := range []dedupe.VaultKind{dedupe.KeptRequests, dedupe.KeptResults} { // so that the first one is a rise
		unopened.Add(context.Background(), 0, metric.WithAttributes(attribute.String("kind", kind.String())))
	}
	return &Seal{log: log, unopened: unopened}, err
}

// Unopened implements seal.Watch.
func (s *Seal) Unopened(kind dedupe.VaultKind, why *dedupe.SealedError) {
	ctx := context.Background()
	s.unopened.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind.String())))
	if kind == dedupe.KeptRequests {
		s.log.ErrorContext(ctx, "a stored request cannot be opened: it is put back", "scope", string(why.Key.Scope),
			"event", delivery.Reference(why.Key.Scope, why.Key.EventID), "key", why.KeyID.String(), "error", why.Cause())
	}
}

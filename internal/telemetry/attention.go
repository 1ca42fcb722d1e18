package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// attentionEvery is how often the ledger is asked what is open in it. Scrapes read what was answered last: a page that
// many scrape must not become load on the database.
const attentionEvery = 15 * time.Second

// attentionShare is how many times as long as the answer took the ledger is left alone at least: the question reads all
// that is open, and a backlog of millions must not make a load of it, either. attentionLongest bounds that, for those who
// alert on the gauges.
const (
	attentionShare   = 50
	attentionLongest = 5 * time.Minute
)

// Open is the part of a ledger that tells what is not finished; see dedupe.Desk.
type Open interface {
	Attention(ctx context.Context) ([]dedupe.Attention, error)
}

// Attention shows what the ledger has open as gauges: how many receipts are in a state that needs attention, and how old
// the oldest is. While the ledger cannot be reached the gauges are absent, not stale.
type Attention struct {
	ledger Open
	scopes scopeLabels
	last   atomic.Pointer[[]dedupe.Attention]
}

// NewAttention registers the gauges; Run keeps them up to date.
func NewAttention(meter metric.Meter, ledger Open) (*Attention, error) {
	a := &Attention{ledger: ledger}
	count, err := meter.Int64ObservableGauge("webhook.receipts.open",
		metric.WithDescription("Receipts that are not finished, by integration and state"))
	oldest, err2 := meter.Float64ObservableGauge("webhook.receipts.oldest_age", metric.WithUnit("s"),
		metric.WithDescription("Since the last change of the oldest receipt, by integration and state"))
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		a.observe(o, count, oldest)
		return nil
	}, count, oldest)
	return a, err
}

// Run asks until ctx ends.
func (a *Attention) Run(ctx context.Context) error {
	for {
		began := time.Now()
		pause := attentionEvery // what is away may be back soon
		if a.ask(ctx) {
			pause = attentionPause(time.Since(began))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// attentionPause is how long to wait after an answer that took so long.
func attentionPause(took time.Duration) time.Duration {
	return min(max(attentionEvery, attentionShare*took), attentionLongest)
}

// ask tells whether there was an answer.
func (a *Attention) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, attentionEvery)
	defer cancel()
	open, err := a.ledger.Attention(ctx)
	if err != nil {
		a.last.Store(nil)
		return false
	}
	a.last.Store(&open)
	return true
}

// observe adds up what shares a label: a gauge may be observed once per label set.
func (a *Attention) observe(o metric.Observer, count metric.Int64Observable, oldest metric.Float64Observable) {
	open := a.last.Load()
	if open == nil {
		return
	}
	merged := map[[2]string]dedupe.Attention{}
	for _, entry := range *open {
		key := [2]string{a.scopes.label(entry.Scope), entry.State.String()}
		sum := merged[key]
		sum.Count += entry.Count
		sum.Oldest = max(sum.Oldest, entry.Oldest)
		merged[key] = sum
	}
	for key, sum := range merged {
		labels := metric.WithAttributes(attribute.String("integration", key[0]), attribute.String("state", key[1]))
		o.ObserveInt64(count, sum.Count, labels)
		o.ObserveFloat64(oldest, sum.Oldest.Seconds(), labels)
	}
}

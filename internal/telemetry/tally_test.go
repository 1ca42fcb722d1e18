package telemetry_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// deltas is the temporality that some collectors want.
func deltas(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }

// sums reads every counter of deliveries, by name and labels.
func sums(t *testing.T, reader *sdkmetric.ManualReader) map[string]int64 {
	t.Helper()
	var read metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &read); err != nil {
		t.Error(err)
	}
	found := map[string]int64{}
	for _, scope := range read.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, point := range sum.DataPoints {
				if sum.IsMonotonic && point.Value < 0 {
					t.Errorf("%s falls by %d", m.Name, -point.Value)
				}
				found[m.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] += point.Value
			}
		}
	}
	return found
}

// Every reader gets every delivery once, whether it wants totals or what is new, however many read meanwhile.
func TestEveryReaderGetsEveryDelivery(t *testing.T) {
	const senders, each = 4, 500
	totals, news, others := sdkmetric.NewManualReader(), sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(deltas)),
		sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(deltas))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(totals), sdkmetric.WithReader(news), sdkmetric.WithReader(others))
	watch, err := telemetry.NewWatch(slog.New(slog.DiscardHandler), noop.NewTracerProvider().Tracer(""), provider.Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := []proxy.Record{
		{Scope: "acme/a", Outcome: proxy.OutcomeApplied, CredentialID: "1"},
		{Scope: "acme/a", Outcome: proxy.OutcomeReplayed, CredentialID: "1", Duplicate: true},
		{Scope: "acme/b", Outcome: proxy.OutcomeReplayed, CredentialID: "2", Retiring: true, Duplicate: true},
		{Scope: "acme/b", Outcome: proxy.OutcomeRejected, Reason: "stale"},
		{Outcome: proxy.OutcomeClosedPath, Code: "route_unknown"},
	}
	added := [2]map[string]int64{{}, {}}
	add := func(reader int, found map[string]int64) {
		for series, n := range found {
			added[reader][series] += n
		}
	}
	sent := make(chan struct{})
	var sending, reading sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for i := range each {
				watch.Done(watch.Begin(request()), kinds[i%len(kinds)])
			}
		})
	}
	for i, reader := range []*sdkmetric.ManualReader{news, others} {
		reading.Go(func() {
			for ended := false; !ended; {
				select {
				case <-sent:
					ended = true
				default:
				}
				add(i, sums(t, reader))
			}
		})
	}
	sending.Wait()
	close(sent)
	reading.Wait()
	const n = senders * each / 5
	want := map[string]int64{
		"webhook.deliveries integration=acme/a,outcome=applied":      n,
		"webhook.deliveries integration=acme/a,outcome=replayed":     n,
		"webhook.deliveries integration=acme/b,outcome=replayed":     n,
		"webhook.deliveries integration=acme/b,outcome=rejected":     n,
		"webhook.deliveries integration=none,outcome=closed_path":    n,
		"webhook.duplicates integration=acme/a":                      n,
		"webhook.duplicates integration=acme/b":                      n,
		"webhook.rejections integration=acme/b,reason=stale":         n,
		"webhook.rejections integration=none,reason=route_unknown":   n,
		"webhook.credential.uses integration=acme/a,status=active":   2 * n,
		"webhook.credential.uses integration=acme/b,status=retiring": n,
		"webhook.deliveries.in_flight ":                              0,
	}
	for name, got := range map[string]map[string]int64{"totals": sums(t, totals), "news": added[0], "others": added[1]} {
		for series, sum := range want {
			if got[series] != sum {
				t.Errorf("%s: %s is %d, want %d", name, series, got[series], sum)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

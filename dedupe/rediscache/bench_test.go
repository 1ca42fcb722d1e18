package rediscache

import (
	"context"
	"fmt"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// nothing is a ledger that costs nothing: what is left is the cache.
type nothing struct{ dedupe.Ledger }

func (nothing) Claim(context.Context, dedupe.Request) (dedupe.Decision, error) {
	return dedupe.Decision{Kind: dedupe.InFlight}, nil
}

func BenchmarkLocalHit(b *testing.B) {
	c := start(b, newLedger(b), "")
	r := request("evt_1", "a")
	apply(b, c, r, answer(200, "11 bytes ok"))
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := c.Claim(context.Background(), r); d.Kind != dedupe.Replay {
			b.Fatal("no hit")
		}
	}
}

func BenchmarkMissWithoutRedis(b *testing.B) {
	c := start(b, nothing{}, "")
	r := request("evt_1", "a")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Claim(context.Background(), r)
	}
}

func BenchmarkRedis(b *testing.B) {
	for _, clients := range []int{1, 64, 256} {
		b.Run(fmt.Sprint("miss/", clients), func(b *testing.B) {
			c := connected(b, nothing{}, testenv.Redis(b))
			b.SetParallelism(clients)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := request("evt_1", "a")
				for pb.Next() {
					_, _ = c.Claim(context.Background(), r)
				}
			})
		})
	}
}

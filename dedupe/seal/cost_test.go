package seal

import (
	"context"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// echo is a store that answers with what it was given at once, so that only the decorator is measured.
type echo struct {
	dedupe.Backend
	found []dedupe.Found
	made  []bool
}

func (e *echo) Insert(context.Context, []dedupe.NewRow) ([]dedupe.Found, error) { return e.found, nil }

func (e *echo) Move(context.Context, []dedupe.Move) ([]bool, error) { return e.made, nil }

func echoing(rows int) (*echo, []dedupe.NewRow, []dedupe.Move) {
	e := &echo{found: make([]dedupe.Found, rows), made: make([]bool, rows)}
	response := answer("evt").Response
	moves := make([]dedupe.Move, rows)
	for i := range moves {
		e.found[i].Row = dedupe.Row{State: dedupe.Applied, Response: &response}
		moves[i] = dedupe.Move{To: dedupe.Applied, Response: &response}
	}
	return e, make([]dedupe.NewRow, rows), moves
}

// Without a key file, and with one that is off, nothing is allocated and nothing is copied.
func TestWithoutKeysNothingIsPaid(t *testing.T) {
	for name, ring := range map[string]*Ring{"no keys": NewRing(nil), "off": ringOf(t, off, "a")} {
		inner, rows, moves := echoing(64)
		store := sealed(t, inner, ring)
		if allocated := testing.AllocsPerRun(100, func() {
			if _, err := store.Insert(context.Background(), rows); err != nil {
				t.Error(err)
			}
			if _, err := store.Move(context.Background(), moves); err != nil {
				t.Error(err)
			}
		}); allocated != 0 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

func BenchmarkStore(b *testing.B) {
	for name, names := range map[string][]string{"without": nil, "sealed": {"a"}} {
		ring := NewRing(nil)
		if names != nil {
			ring = ringOf(b, names...)
		}
		inner, rows, moves := echoing(64)
		store := sealed(b, inner, ring)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Insert(context.Background(), rows); err != nil {
					b.Fatal(err)
				}
				if _, err := store.Move(context.Background(), moves); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	keys := keysOf(b, "a")
	at := label{purpose: forRequest, namespace: "ns", key: dedupe.Key{Scope: "acme/orders", EventID: delivery.EventID("evt_1")}}
	request := job("evt_1")
	request.Body = make([]byte, 16<<10)
	b.SetBytes(int64(len(request.Body)))
	b.ReportAllocs()
	for b.Loop() {
		value := sealRequest(keys, &at, request)
		if _, why := openRequest(keys, &at, value); why != nil {
			b.Fatal(why)
		}
	}
}

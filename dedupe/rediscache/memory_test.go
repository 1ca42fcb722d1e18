package rediscache

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

func memoryKey(i int) dedupe.Key {
	return dedupe.Key{Scope: "acme/orders", EventID: delivery.EventID(fmt.Sprint("evt_", i))}
}

func TestLastTenThousandResultsFit(t *testing.T) {
	now := time.Now()
	m := newMemory(10_000, 8<<20, now)
	f := someFact()
	f.response.Body = []byte("11 bytes ok")
	for i := range 30_000 {
		f.id = memoryKey(i).EventID
		value, _ := encode("key", &f)
		m.put(memoryKey(i), payloadOf(value), now.Add(localLife))
	}
	for i := 20_000; i < 30_000; i++ {
		if _, found := m.get(memoryKey(i), now); !found {
			t.Fatalf("result %d of the last 10,000 is gone", i-20_000)
		}
	}
	if entries, bytes := m.size(); entries > 11_500 || bytes > 8<<20 {
		t.Errorf("%d entries, %d bytes", entries, bytes)
	}
}

// When the asking moves on to later results, all of these are there, however often the ones before were asked for.
func TestMemoryFollowsTheAsking(t *testing.T) {
	now := time.Now()
	m := newMemory(10_000, 8<<20, now)
	for first := 0; first < 40_000; first += 10_000 {
		for i := range 10_000 {
			m.put(memoryKey(first+i), []byte("a result"), now.Add(localLife))
		}
		for range 3 {
			for _, i := range rand.Perm(10_000) {
				if _, found := m.get(memoryKey(first+i), now); !found {
					t.Fatalf("result %d of 10,000 is gone, after %d others", i, first)
				}
			}
		}
	}
}

// What is asked for stays while others, never asked for, pass by.
func TestPassersByDoNotPushOutWhatIsAskedFor(t *testing.T) {
	now := time.Now()
	m := newMemory(800, 1<<20, now)
	for i := range 100 {
		m.put(memoryKey(i), []byte("asked for"), now.Add(time.Hour))
	}
	for i := range 10_000 {
		if i%100 == 0 {
			for j := range 100 {
				if _, found := m.get(memoryKey(j), now); !found {
					t.Fatalf("%d was pushed out after %d others", j, i)
				}
			}
		}
		m.put(memoryKey(1000+i), []byte("passing by"), now.Add(time.Hour))
	}
}

func TestMemoryKeepsItsBoundsAndItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Now()
		now := base
		maxEntries, maxBytes := rapid.IntRange(0, 200).Draw(t, "entries"), rapid.IntRange(0, 32<<10).Draw(t, "bytes")
		m := newMemory(maxEntries, maxBytes, base)
		last := map[int]string{}
		until := map[int]time.Time{}
		put := func(t *rapid.T) {
			i := rapid.IntRange(0, 60).Draw(t, "key")
			payload := rapid.StringN(0, 600, 600).Draw(t, "payload")
			last[i], until[i] = payload, now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "life"))*time.Second)
			m.put(memoryKey(i), []byte(payload), until[i])
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": put, "more": put,
			"get": func(t *rapid.T) {
				i := rapid.IntRange(0, 60).Draw(t, "key")
				payload, found := m.get(memoryKey(i), now)
				if found && (string(payload) != last[i] || !now.Before(until[i])) {
					t.Fatalf("%d: %q, want %q until %v", i, payload, last[i], until[i])
				}
			},
			"drop": func(t *rapid.T) {
				i := rapid.IntRange(0, 60).Draw(t, "key")
				m.drop(memoryKey(i))
				if _, found := m.get(memoryKey(i), now); found {
					t.Fatalf("%d is still there", i)
				}
			},
			"wait": func(*rapid.T) { now = now.Add(time.Second) },
			"": func(t *rapid.T) {
				entries, bytes := m.size()
				if entries > maxEntries+maxEntries/8+shards || bytes > maxBytes {
					t.Fatalf("%d entries of %d, %d bytes of %d", entries, maxEntries, bytes, maxBytes)
				}
				checkOrder(t, m)
			},
		})
	})
}

// checkOrder walks every shard's entries from both ends.
func checkOrder(t *rapid.T, m *memory) {
	for i := range m.shards {
		s := &m.shards[i]
		forth, back, bytes := 0, 0, 0
		for e := s.oldest; e != nil; e = e.newer {
			forth++
			bytes += e.cost()
		}
		for e := s.newest; e != nil; e = e.older {
			back++
		}
		if forth != len(s.entries) || back != forth || bytes != s.bytes {
			t.Fatalf("shard %d: %d and %d of %d entries, %d of %d bytes", i, forth, back, len(s.entries), bytes, s.bytes)
		}
	}
}

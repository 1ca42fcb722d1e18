package rediscache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// ring holds the named keys; "off" seals nothing.
func ring(t *testing.T, names ...string) *seal.Ring {
	t.Helper()
	var file strings.Builder
	for _, name := range names {
		if sum := sha256.Sum256([]byte(name)); name != "off" {
			name = base64.StdEncoding.EncodeToString(sum[:])
		}
		file.WriteString(name + "\n")
	}
	keys, err := seal.ParseKeys([]byte(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	return seal.NewRing(keys)
}

func sealedBy(ring *seal.Ring) func(*Config) {
	return func(c *Config) { c.Sealer = seal.NewValues(c.Namespace, ring) }
}

// dump is every key and value in Redis.
func dump(t *testing.T, db redis.UniversalClient) []byte {
	t.Helper()
	ctx := context.Background()
	keys, err := db.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, key := range keys {
		value, err := db.Get(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(key + "\n" + value + "\n")
	}
	return all.Bytes()
}

func TestNothingIsReadableInRedis(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	db, keys := person(t, server), ring(t, "a")
	one := connected(t, ledger, server, sealedBy(keys))
	apply(t, one, request("evt_canary", "a"), answer(200, "the canary sings"))
	eventually(t, "the result reaches Redis", func() bool { return one.Stats().Stored == 1 })
	two := connected(t, ledger, server, sealedBy(keys))
	replays(t, two, request("evt_canary", "a"), Shared, answer(200, "the canary sings"))
	unreadable(t, db)
	desk := one.Desk(ledger)
	if err := desk.Reopen(t.Context(), "acme/orders", "evt_canary", dedupe.Act{Actor: "ana", Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	unreadable(t, db)
	three := connected(t, ledger, server, sealedBy(keys))
	if d := claim(t, three, request("evt_canary", "a")); d.Kind != dedupe.Fresh {
		t.Errorf("the mark does not hold: %+v", d)
	}
}

func unreadable(t *testing.T, db redis.UniversalClient) {
	t.Helper()
	state := dump(t, db)
	if len(state) < 60 {
		t.Fatalf("Redis has %q", state)
	}
	for _, part := range []string{"canary", "acme", "orders", "text/plain", "Content"} {
		if bytes.Contains(state, []byte(part)) {
			t.Errorf("Redis has %q: %q", part, state)
		}
	}
}

// What a replica cannot open is a miss, says nothing bad of Redis, and is no error. What cannot be of a replica is.
func TestValuesUnderOtherSealsAreMisses(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	db, ctx := person(t, server), context.Background()
	write := func(id string, change ...func(*Config)) string {
		r := connected(t, ledger, server, change...)
		defer r.stop()
		apply(t, r, request(id, "a"), answer(200, id))
		eventually(t, "the result reaches Redis", func() bool { return r.Stats().Stored == 1 })
		value, err := db.Get(ctx, r.key("acme/orders", request(id, "a").EventID)).Result()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	write("plain")
	write("by a", sealedBy(ring(t, "a")))
	value := write("by b", sealedBy(ring(t, "b", "a")))
	write("off", sealedBy(ring(t, "off", "a")))
	for _, c := range []struct {
		keys  []string
		opens string
	}{
		{nil, "plain off"},
		{[]string{"a"}, "by a"},
		{[]string{"a", "b"}, "by a by b"},
		{[]string{"c"}, ""},
		{[]string{"off", "a"}, "plain off by a"},
	} {
		keys := seal.NewRing(nil)
		if c.keys != nil {
			keys = ring(t, c.keys...)
		}
		for range 3 { // as often as makes the breaker suspicious
			r := connected(t, ledger, server, sealedBy(keys))
			opened := 0
			for _, id := range []string{"plain", "by a", "by b", "off"} {
				tier := Ledger
				if strings.Contains(c.opens, id) {
					tier, opened = Shared, opened+1
				}
				replays(t, r, request(id, "a"), tier, answer(200, id))
			}
			if s := r.Stats(); s.Foreign != 0 || s.Open || s.Unopened != uint64(4-opened) {
				t.Errorf("%v: %+v", c.keys, s)
			}
			r.stop()
		}
	}
	// Another event's value, or a changed one, is foreign.
	r := connected(t, ledger, server, sealedBy(ring(t, "a", "b")))
	db.Set(ctx, r.key("acme/orders", "by a"), value, 0)
	replays(t, r, request("by a", "a"), Ledger, answer(200, "by a"))
	db.Set(ctx, r.key("acme/orders", "off"), "\x01garbage", 0)
	replays(t, r, request("off", "a"), Ledger, answer(200, "off"))
	if s := r.Stats(); s.Foreign != 2 || s.Unopened != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTheCapCountsTheSealedSize(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	db := person(t, server)
	r := connected(t, ledger, server, sealedBy(ring(t, "a")), func(c *Config) { c.MaxValue = 400 })
	f := someFact()
	f.response.Body, f.confirmed, f.expires = nil, time.Now(), time.Now().Add(time.Hour)
	value, _ := encode("key", &f)
	room := 400 - len(value)
	for _, size := range []int{room, room - 49} {
		g := f
		answer := *f.response
		answer.Body = make([]byte, size)
		g.response, g.id = &answer, "evt_"+f.id[:len(f.id)-4]
		r.keep(&g)
	}
	eventually(t, "one is stored", func() bool { return r.Stats().Stored == 1 })
	if got, err := db.Get(context.Background(), onlyKey(t, db)).Bytes(); err != nil || len(got) > 400 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// What is on its way to Redis has been sealed, whenever Redis comes and goes.
func TestNothingIsSentUnsealedWhileRedisComesAndGoes(t *testing.T) {
	config := Config{Ledger: newLedger(t), Namespace: "shop", URL: "redis://127.0.0.1:1"}
	sealedBy(ring(t, "a"))(&config)
	cache, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	response := answer(200, "canary").Response
	f := fact{scope: "acme/orders", id: "evt_1", confirmed: cache.now(), expires: cache.now().Add(time.Hour), response: &response}
	var flipping sync.WaitGroup
	done := make(chan struct{})
	flipping.Go(func() {
		for closed := true; ; closed = !closed {
			select {
			case <-done:
				return
			default:
				cache.shared.breaker.closed.Store(closed)
			}
		}
	})
	for range 20_000 {
		cache.keep(&f)
		select {
		case n := <-cache.shared.notes:
			if bytes.Contains(n.value, []byte("canary")) {
				t.Error("a result is sent as it is")
			}
		default:
		}
	}
	close(done)
	flipping.Wait()
}

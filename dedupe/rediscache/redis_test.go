package rediscache

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// person is a client that may do everything.
func person(t testing.TB, address string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal("the test's Redis URL is wrong")
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

func onlyKey(t testing.TB, client *redis.Client) string {
	t.Helper()
	keys, err := client.Keys(context.Background(), "*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %q, %v; want one", keys, err)
	}
	return keys[0]
}

func TestOtherReplicaFindsTheResultInRedis(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	noLeaks(t)
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	c := connected(t, ledger, server)
	asked := ledger.claims.Load()
	replays(t, c, request("evt_1", "a"), Shared, answer(200, "done"))
	replays(t, c, request("evt_1", "a"), Local, answer(200, "done"))
	c.clock.forward(localLife)
	replays(t, c, request("evt_1", "a"), Shared, answer(200, "done"))
	c.clock.forward(localLife)
	if d := claim(t, c, request("evt_1", "b")); d.Kind != dedupe.Conflict || d.Response == nil {
		t.Errorf("%+v, want a conflict with the result", d)
	}
	if ledger.claims.Load() != asked {
		t.Error("the ledger was asked")
	}
}

func TestReplayFromTheLedgerReachesRedis(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
	first, second := connected(t, ledger, server), connected(t, ledger, server)
	replays(t, first, request("evt_1", "a"), Ledger, answer(200, "done"))
	eventually(t, "the result reaches Redis", func() bool { return first.Stats().Stored == 1 })
	replays(t, second, request("evt_1", "a"), Shared, answer(200, "done"))
}

func TestLedgerDownAnswersWhatIsInRedis(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	c := connected(t, ledger, server)
	ledger.down.Store(true)
	replays(t, c, request("evt_1", "a"), Shared, answer(200, "done"))
}

// A fact in Redis that nobody has confirmed for an hour is only better than no answer.
func TestOldFactsAreAnsweredOnlyWhileTheLedgerIsDown(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	c := connected(t, ledger, server)
	c.clock.forward(trust + time.Minute)
	ledger.down.Store(true)
	replays(t, c, request("evt_1", "a"), Stale, answer(200, "done"))
	replays(t, c, request("evt_1", "a"), Stale, answer(200, "done"))
	ledger.down.Store(false)
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
}

func TestClockOfAnotherReplicaIsNotTrusted(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	for _, behind := range []time.Duration{2 * skew, trust / 2, 2 * trust} {
		c := connected(t, ledger, server)
		c.clock.forward(-behind)
		replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
	}
}

func TestKeyAndItsLife(t *testing.T) {
	server := testenv.Redis(t)
	db := person(t, server)
	for name, test := range map[string]struct {
		retention, ttl, least, most time.Duration
	}{
		"capped":    {retention: 72 * time.Hour, ttl: 2 * time.Hour, least: 119 * time.Minute, most: 2 * time.Hour},
		"a day":     {retention: 72 * time.Hour, least: 23 * time.Hour, most: 24 * time.Hour},
		"receipt's": {retention: time.Hour, least: 59 * time.Minute, most: time.Hour},
		"for ever":  {least: 23 * time.Hour, most: 24 * time.Hour},
	} {
		db.FlushAll(context.Background())
		c := connected(t, newLedger(t), server, func(config *Config) { config.TTL = test.ttl })
		r := request("evt_canary", "a")
		r.Policy.Retention.Receipt = test.retention
		apply(t, c, r, answer(200, "done"))
		eventually(t, "the result reaches Redis", func() bool { return c.Stats().Stored == 1 })
		key := onlyKey(t, db)
		if !strings.HasPrefix(key, "sidecar_shop:v1:") || strings.Contains(key, "canary") || strings.Contains(key, "acme") {
			t.Errorf("%s: key %q", name, key)
		}
		if life := db.PTTL(context.Background(), key).Val(); life < test.least || life > test.most {
			t.Errorf("%s: lives %v, want %v to %v", name, life, test.least, test.most)
		}
		c.stop()
	}
}

// leaving is a ledger whose one event is applied, and whose receipt is kept for a while.
type leaving struct {
	dedupe.Ledger
	left time.Duration
}

func (l leaving) Claim(context.Context, dedupe.Request) (dedupe.Decision, error) {
	response := answer(200, "done").Response
	return dedupe.Decision{Kind: dedupe.Replay, State: dedupe.Applied, Response: &response, Left: l.left, Age: time.Hour}, nil
}

// A receipt that is replayed late in its life is cached for what is left of it, and not at all after that, whatever its
// policy says by now.
func TestLifeOfAReplayEndsWithTheReceipt(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, 10 * time.Second: 10 * time.Second, 0: 0, -time.Hour: 0,
		100 * time.Hour: 24 * time.Hour, math.MaxInt64: 24 * time.Hour,
	} {
		c, r := start(t, leaving{left: left}, ""), request("evt_1", "a")
		claim(t, c, r)
		payload, found := c.memory.get(keyOf(&r), c.now())
		if found != (want > 0) {
			t.Errorf("%v left: cached is %v", left, found)
		}
		if f, what := decode(payload, r.Scope, r.EventID); found && (what != ours || f.expires.Sub(f.confirmed) != want) {
			t.Errorf("%v left: lives %v", left, f.expires.Sub(f.confirmed))
		}
		if _, still := c.memory.get(keyOf(&r), c.now().Add(min(want, localLife))); still {
			t.Errorf("%v left: still in memory", left)
		}
	}
}

// unopened is a ledger that has a result and cannot open it.
type unopened struct{ dedupe.Ledger }

func (unopened) Claim(context.Context, dedupe.Request) (dedupe.Decision, error) {
	return dedupe.Decision{}, fmt.Errorf("claim: %w", &dedupe.SealedError{})
}

// A ledger that cannot open a result has answered: what Redis still has may be an older one.
func TestAnOldFactDoesNotStandInForASealedResult(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	r := request("evt_1", "a")
	inRedis(t, ledger, server, r, answer(200, "done"))
	c := connected(t, unopened{ledger}, server)
	c.clock.forward(trust + time.Minute)
	if d, err := c.Claim(t.Context(), r); err == nil {
		t.Errorf("answered with %+v", d)
	}
}

// The receipt's life stands in the value too: Redis may have lost the key's.
func TestValueOutlivesItsReceiptInVain(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	r := request("evt_1", "a")
	r.Policy.Retention.Receipt = time.Minute
	inRedis(t, ledger, server, r, answer(200, "done"))
	db := person(t, server)
	db.Persist(context.Background(), onlyKey(t, db))
	c := connected(t, ledger, server)
	c.clock.forward(50 * time.Second)
	replays(t, c, r, Shared, answer(200, "done"))
	c.clock.forward(11 * time.Second) // not in local memory either
	ledger.down.Store(true)
	if d, err := c.Claim(context.Background(), r); err == nil {
		t.Errorf("%+v, want the ledger's error", d)
	}
	ledger.down.Store(false)
	replays(t, c, r, Ledger, answer(200, "done"))
}

func TestNamespacesDoNotShare(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	c := connected(t, newLedger(t), server, func(config *Config) { config.Namespace = "other" })
	if d := claim(t, c, request("evt_1", "a")); d.Kind != dedupe.Fresh {
		t.Errorf("%+v, want a fresh claim", d)
	}
}

func TestLargeResultsAreNotCached(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	c := connected(t, ledger, server)
	large := strings.Repeat("x", 9<<10)
	apply(t, c, request("evt_1", "a"), answer(200, large))
	apply(t, c, request("evt_2", "a"), answer(200, "done"))
	eventually(t, "the small result reaches Redis", func() bool { return c.Stats().Stored == 1 })
	onlyKey(t, person(t, server))
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, large))
}

// An omitted body, fields with several values and odd bytes come out as they went in.
func TestOddResponsesSurviveRedis(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	writer, reader := connected(t, ledger, server), connected(t, ledger, server)
	omitted := answer(200, "too large")
	r := request("omitted", "a")
	r.Policy.Record.MaxBody = 3
	apply(t, writer, r, omitted)
	odd := answer(299, "\x00\xff\r\n")
	odd.Response.Header["Location"] = []string{"", "é", "\x80", strings.Repeat("a", 300)}
	apply(t, writer, request("odd", "a"), odd)
	eventually(t, "the results reach Redis", func() bool { return writer.Stats().Stored == 2 })
	replays(t, reader, request("odd", "a"), Shared, odd)
	d := claim(t, reader, r)
	if d.Kind != dedupe.Replay || !d.Response.Omitted || d.Response.Body != nil || reader.Stats().Shared != 2 {
		t.Errorf("%+v, want a replay without its body", d)
	}
}

func TestWithoutRunRedisIsNotAsked(t *testing.T) {
	ledger := newLedger(t)
	server := testenv.NewRedis(t)
	apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
	cache, err := New(Config{Ledger: ledger, Namespace: "shop", URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	server.Freeze()
	if d := claim(t, cache, request("evt_1", "a")); d.Kind != dedupe.Replay {
		t.Errorf("%+v, want a replay", d)
	}
	if s := cache.Stats(); s.Ledger != 1 || s.Errors != 0 || !s.Open {
		t.Errorf("Redis was asked: %+v", s)
	}
	server.Thaw()
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	claim(t, cache, request("evt_1", "a"))
}

func TestConcurrentDeliveriesShareRedis(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	writer, reader := connected(t, ledger, server), connected(t, ledger, server)
	const events = 400
	for i := range events {
		apply(t, writer, request(fmt.Sprint("evt_", i), "a"), answer(200, fmt.Sprint("done ", i)))
	}
	eventually(t, "the results reach Redis", func() bool {
		s := writer.Stats()
		return s.Stored+s.Dropped+s.Errors >= events
	})
	done := make(chan string, events)
	for i := range events {
		go func() {
			d, err := reader.Claim(context.Background(), request(fmt.Sprint("evt_", i), "a"))
			if err != nil || d.Kind != dedupe.Replay || string(d.Response.Body) != fmt.Sprint("done ", i) {
				done <- fmt.Sprintf("event %d: %+v, %v", i, d, err)
				return
			}
			done <- ""
		}()
	}
	for range events {
		if problem := <-done; problem != "" {
			t.Error(problem)
		}
	}
	if s := reader.Stats(); s.Shared == 0 {
		t.Errorf("none was answered by Redis: %+v", s)
	}
}

// A user who may do no more than the four commands, and nothing beside the namespace's keys, suffices.
func TestLeastPrivilegedUser(t *testing.T) {
	server, ledger := testenv.NewRedis(t), newLedger(t)
	db := person(t, server.URL())
	rule := []any{"ACL", "SETUSER", "cache", "on", ">s3cr:t@/", "resetkeys", "~sidecar_shop:*", "+get", "+set", "+del", "+ping"}
	if err := db.Do(context.Background(), rule...).Err(); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("redis://cache:%s@%s", url.QueryEscape("s3cr:t@/"), server.Addr())
	inRedis(t, ledger, address, request("evt_1", "a"), answer(200, "done"))
	c := connected(t, ledger, address)
	replays(t, c, request("evt_1", "a"), Shared, answer(200, "done"))
	if err := c.Desk(ledger).Reopen(context.Background(), "acme/orders", "evt_1", dedupe.Act{}); err != nil {
		t.Fatal(err)
	}
	refused := db.Do(context.Background(), "ACL", "LOG").Val()
	for _, entry := range refused.([]any) {
		// HELLO is tried while authenticating and is always allowed; nothing else may be tried.
		t.Errorf("the server refused something: %v", entry)
	}
	if s := c.Stats(); s.Unmarked != 0 || s.Errors != 0 {
		t.Errorf("not everything worked: %+v", s)
	}
}

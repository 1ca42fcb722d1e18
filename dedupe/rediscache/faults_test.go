package rediscache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// works sends events and their duplicates through a cache: whatever Redis does, the answers are the ledger's and the
// median of what is added stays under 50 ms.
func works(t testing.TB, ledger *watched, c *replica, prefix string) {
	t.Helper()
	const events = 30
	var took []time.Duration // by the claims that local memory does not answer: only they may wait for Redis
	timed := func(r dedupe.Request) dedupe.Decision {
		local := c.Stats().Local
		began := time.Now()
		d := claim(t, c, r)
		if c.Stats().Local == local {
			took = append(took, time.Since(began))
		}
		return d
	}
	for i := range events {
		r, result := request(fmt.Sprint(prefix, i), "a"), answer(200, fmt.Sprint("done ", i))
		apply(t, ledger, r, result) // by another replica: this one has nothing in memory
		if d := timed(r); d.Kind != dedupe.Replay || string(d.Response.Body) != string(result.Response.Body) {
			t.Fatalf("a duplicate: %+v", d)
		}
		if d := timed(request(fmt.Sprint(prefix, i), "b")); d.Kind != dedupe.Conflict {
			t.Fatalf("other content: %+v", d)
		}
		d := timed(request(fmt.Sprint(prefix, "new_", i), "a"))
		if d.Kind != dedupe.Fresh {
			t.Fatalf("a new event: %+v", d)
		}
		settle(t, c, request(fmt.Sprint(prefix, "new_", i), "a"), d.Claim, result)
		if d := timed(request(fmt.Sprint(prefix, "new_", i), "a")); d.Kind != dedupe.Replay {
			t.Fatalf("its duplicate: %+v", d)
		}
	}
	slices.Sort(took)
	if len(took) < 2*events {
		t.Errorf("only %d claims could have asked Redis", len(took))
	}
	if median := took[len(took)/2]; median > 50*time.Millisecond {
		t.Errorf("half of the claims took more than %v", median)
	}
	if slow, worst := took[len(took)-3], took[len(took)-1]; slow > 2*time.Second || worst > 10*time.Second { // two may meet a busy machine
		t.Errorf("three claims took %v and more, one took %v", slow, worst)
	}
}

func TestRedisFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		begin, end func(testing.TB, *testenv.RedisServer)
	}{
		"killed": {
			begin: func(_ testing.TB, s *testenv.RedisServer) { s.Stop() },
			end:   func(t testing.TB, s *testenv.RedisServer) { s.Start(t) },
		},
		"silent": {
			begin: func(_ testing.TB, s *testenv.RedisServer) { s.Freeze() },
			end:   func(_ testing.TB, s *testenv.RedisServer) { s.Thaw() },
		},
		"full":               {begin: setting("maxmemory", "1"), end: setting("maxmemory", "0")},
		"read-only replica":  {begin: send("REPLICAOF", "127.0.0.1", "1"), end: send("REPLICAOF", "NO", "ONE")},
		"stale replica":      {begin: staleReplica, end: send("REPLICAOF", "NO", "ONE")},
		"reads are refused":  {begin: send("ACL", "SETUSER", "default", "-get"), end: send("ACL", "SETUSER", "default", "+get")},
		"clients are kicked": {begin: send("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"), end: send("PING")},
	} {
		t.Run(name, func(t *testing.T) {
			server, ledger := testenv.NewRedis(t), newLedger(t)
			noLeaks(t)
			c := connected(t, ledger, server.URL(), hurried)
			works(t, ledger, c, "before_")
			fault.begin(t, server)
			works(t, ledger, c, "during_")
			late := start(t, ledger, server.URL(), hurried)
			works(t, ledger, late, "from_the_start_")
			fault.end(t, server)
			for _, c := range []*replica{c, late} {
				eventually(t, "Redis is used again", func() bool { return !c.Stats().Open })
			}
			works(t, ledger, c, "after_")
			eventually(t, "results reach Redis again", func() bool {
				before := late.Stats().Stored
				r := request(fmt.Sprint("again_", before, time.Now().UnixNano()), "a")
				apply(t, late, r, answer(200, "done"))
				d := claim(t, c, r)
				return d.Kind == dedupe.Replay && c.Stats().Shared > 0
			})
		})
	}
}

func TestNetworkFaults(t *testing.T) {
	for name, begin := range map[string]func(*testenv.Tap){
		"nothing passes": (*testenv.Tap).Blackhole, "answers are lost": (*testenv.Tap).SwallowReplies,
		"refused": (*testenv.Tap).Refuse, "cut": (*testenv.Tap).Cut,
		"slow": func(tap *testenv.Tap) { tap.Delay(60 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			server, ledger := testenv.NewRedis(t), newLedger(t)
			tap := testenv.NewTap(t, server.Addr())
			c := connected(t, ledger, "redis://"+tap.Addr(), hurried)
			works(t, ledger, c, "before_")
			begin(tap)
			works(t, ledger, c, "during_")
			late := start(t, ledger, "redis://"+tap.Addr(), hurried)
			works(t, ledger, late, "from_the_start_")
			if s := late.Stats(); name != "cut" && !s.Open {
				t.Errorf("it is used: %+v", s)
			}
			tap.Pass()
			for _, c := range []*replica{c, late} {
				eventually(t, "Redis is used again", func() bool { return !c.Stats().Open })
			}
			works(t, ledger, c, "after_")
		})
	}
}

func TestRedisIsUsedAgainAfterItWasSilent(t *testing.T) {
	server, ledger := testenv.NewRedis(t), newLedger(t)
	c := connected(t, ledger, server.URL(), hurried)
	server.Freeze()
	for i := range maxFailures {
		claim(t, c, request(fmt.Sprint("evt_", i), "a"))
	}
	eventually(t, "the breaker opens", func() bool { return c.Stats().Open })
	errors := c.Stats().Errors
	if errors == 0 {
		t.Error("no error was counted")
	}
	began := time.Now()
	for i := range 100 {
		claim(t, c, request(fmt.Sprint("open_", i), "a"))
	}
	if took := time.Since(began); took > 3*time.Second { // a budget each would be 4 s
		t.Errorf("a hundred claims past an open breaker took %v", took)
	}
	server.Thaw()
	eventually(t, "the breaker closes", func() bool { return !c.Stats().Open })
}

func setting(name, value string) func(testing.TB, *testenv.RedisServer) {
	return send("CONFIG", "SET", name, value)
}

func send(words ...any) func(testing.TB, *testenv.RedisServer) {
	return func(t testing.TB, s *testenv.RedisServer) {
		t.Helper()
		if err := person(t, s.URL()).Do(context.Background(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// staleReplica answers every read with an error.
func staleReplica(t testing.TB, s *testenv.RedisServer) {
	t.Helper()
	setting("replica-serve-stale-data", "no")(t, s)
	send("REPLICAOF", "127.0.0.1", "1")(t, s)
}

func TestRedisAbsentAtStart(t *testing.T) {
	server, ledger := testenv.NewRedis(t), newLedger(t)
	server.Stop()
	noLeaks(t)
	c := start(t, ledger, server.URL())
	works(t, ledger, c, "absent_")
	if s := c.Stats(); !s.Redis || !s.Open {
		t.Errorf("%+v, want an open breaker", s)
	}
	server.Start(t)
	eventually(t, "Redis is used", func() bool { return !c.Stats().Open })
}

func TestWrongPassword(t *testing.T) {
	server, ledger := testenv.NewRedis(t, "--requirepass", "right"), newLedger(t)
	noLeaks(t)
	c := start(t, ledger, "redis://:wrong@"+server.Addr())
	eventually(t, "the refusal is counted", func() bool { return c.Stats().Errors > 0 })
	works(t, ledger, c, "evt_")
	if s := c.Stats(); !s.Open {
		t.Errorf("%+v, want an open breaker", s)
	}
}

// Whatever stands under an event's key, if it is not the event's own fact it is a miss.
func TestForeignValuesAreMisses(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	db, ctx := person(t, server), context.Background()
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	key := onlyKey(t, db)
	genuine, _ := db.Get(ctx, key).Bytes()
	inRedis(t, ledger, server, request("evt_2", "a"), answer(200, "another's"))
	otherKey := (&Cache{namespace: "shop"}).key("acme/orders", "evt_2")
	another, _ := db.Get(ctx, otherKey).Bytes()
	another = stamp(key, another[:len(another)-checksumSize])
	version2 := stamp(key, append([]byte{version + 1}, genuine[1:len(genuine)-checksumSize]...))

	values := map[string]string{
		"empty": "", "garbage": "\x00garbage", "JSON": `{"status":200}`, "huge": strings.Repeat("x", 1<<20),
		"another event's": string(another), "another version's": string(version2),
		"cut off": string(genuine[:len(genuine)-1]), "longer": string(genuine) + "x",
		"too large": string(stamp(key, append(slices.Clone(genuine[:len(genuine)-checksumSize]), make([]byte, 9<<10)...))),
	}
	for name, value := range values {
		c := connected(t, ledger, server)
		db.Set(ctx, key, value, 0)
		replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
		if s := c.Stats(); s.Foreign+s.Errors != 1 { // the huge one may not arrive in time
			t.Errorf("%s: not counted: %+v", name, s)
		}
		c.stop()
	}
	c := connected(t, ledger, server)
	db.Del(ctx, key)
	db.LPush(ctx, key, "a list")
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
	db.Del(ctx, key)
	db.Set(ctx, key, genuine, 0)
	c.clock.forward(localLife)
	replays(t, c, request("evt_1", "a"), Shared, answer(200, "done"))
}

func TestEveryChangedByteMakesAMiss(t *testing.T) {
	f := someFact()
	value, fits := encode("key", &f)
	if !fits {
		t.Fatal("the fact does not fit")
	}
	for i := range value {
		for _, flip := range []byte{1, 0x80, 0xff} {
			changed := slices.Clone(value)
			changed[i] ^= flip
			if _, fine := stamped("key", changed); fine {
				t.Fatalf("byte %d may be anything", i)
			}
		}
	}
	if _, fine := stamped("kez", value); fine {
		t.Error("another key's value is accepted")
	}
}

// Senders that hang up while Redis is asked disturb nobody who shares the round trip, and cost no connection.
func TestACallersEndIsItsOwn(t *testing.T) {
	server, ledger := testenv.NewRedis(t), newLedger(t)
	tap := testenv.NewTap(t, server.Addr())
	c := connected(t, ledger, "redis://"+tap.Addr())
	for i := range 20 {
		inRedis(t, ledger, server.URL(), request(fmt.Sprint("evt_", i), "a"), answer(200, fmt.Sprint("done ", i)))
	}
	tap.Delay(3 * time.Millisecond)
	received := func() (count int) {
		_, rest, _ := strings.Cut(person(t, server.URL()).Info(context.Background(), "stats").Val(), "total_connections_received:")
		if _, err := fmt.Sscan(rest, &count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	before := received()
	var asking sync.WaitGroup
	for i := range 20 {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			_, _ = c.Claim(ctx, request(fmt.Sprint("evt_", i), "a")) // it may have got its answer or not
		})
		asking.Go(func() {
			d, err := c.Claim(t.Context(), request(fmt.Sprint("evt_", i), "a"))
			if err != nil || d.Kind != dedupe.Replay || string(d.Response.Body) != fmt.Sprint("done ", i) {
				t.Errorf("event %d: %+v, %v", i, d, err)
			}
		})
	}
	asking.Wait()
	if s := c.Stats(); s.Errors != 0 || s.Open || s.Shared == 0 {
		t.Errorf("%+v", s)
	}
	if made := received() - before; made > 1+readers { // the test's own, and one for each reader
		t.Errorf("%d connections were made", made)
	}
}

package rediscache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"go.uber.org/goleak"
)

var errDown = errors.New("the ledger is out of reach")

// watched is a real ledger whose calls are counted, and that can be out of reach.
type watched struct {
	*dedupe.Keeper
	claims  atomic.Int64
	settles atomic.Int64
	down    atomic.Bool
	during  func() // called within Claim, after the ledger has answered
}

func (w *watched) Claim(ctx context.Context, r dedupe.Request) (dedupe.Decision, error) {
	w.claims.Add(1)
	if w.down.Load() {
		return dedupe.Decision{}, errDown
	}
	d, err := w.Keeper.Claim(ctx, r)
	if w.during != nil {
		w.during()
	}
	return d, err
}

func (w *watched) Settle(ctx context.Context, c dedupe.Claim, s dedupe.Settlement) error {
	w.settles.Add(1)
	if w.down.Load() {
		return errDown
	}
	return w.Keeper.Settle(ctx, c, s)
}

func (w *watched) Look(ctx context.Context, r dedupe.Request) (dedupe.Decision, error) {
	if w.down.Load() {
		return dedupe.Decision{}, errDown
	}
	return w.Keeper.Look(ctx, r)
}

func newLedger(t testing.TB) *watched {
	t.Helper()
	store, err := sqlite.Open(context.Background(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: store, Replica: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return &watched{Keeper: keeper}
}

// clock is the cache's: it runs, and can be set forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) forward(d time.Duration) { c.ahead.Add(int64(d)) }

// replica is one process's cache.
type replica struct {
	*Cache
	clock *clock
	stop  func()
}

// patience is for a test that wants Redis' own answer, however busy the machine is.
const patience = 20 * time.Second

// patient gives Redis all the time that it may need. The cache must not run yet.
func patient(c *Cache) *Cache {
	s := c.shared
	s.budget = patience
	s.limits = limits{dial: patience, io: patience, probe: patience, mark: patience, write: patience}
	s.replace(newClient(s.address, s.tls, s.limits))
	return c
}

// hurried gives Redis as little time as the product does.
func hurried(c *Config) { c.Budget = 40 * time.Millisecond }

// start runs a cache over a ledger; change may adjust its configuration. It is patient with Redis unless it is hurried.
func start(t testing.TB, ledger dedupe.Ledger, url string, change ...func(*Config)) *replica {
	t.Helper()
	clock := &clock{}
	config := Config{Ledger: ledger, Namespace: "shop", URL: url, Now: clock.now}
	for _, f := range change {
		f(&config)
	}
	cache, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if cache.shared != nil && config.Budget == 0 {
		patient(cache)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := cache.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	r := &replica{Cache: cache, clock: clock, stop: sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := cache.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})}
	t.Cleanup(r.stop)
	return r
}

// connected starts a cache and waits until it uses Redis.
func connected(t testing.TB, ledger dedupe.Ledger, url string, change ...func(*Config)) *replica {
	t.Helper()
	r := start(t, ledger, url, change...)
	eventually(t, "Redis is used", func() bool { return !r.Stats().Open })
	return r
}

// eventually polls another process or goroutine.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, holds)
}

func within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// noLeaks looks for goroutines that outlive a test; the driver's own end within a second of its Close.
func noLeaks(t testing.TB) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	services := goleak.IgnoreAnyFunction("github.com/webhook-sidecar/webhook-sidecar/internal/testenv.Start.func1")
	t.Cleanup(func() {
		var err error
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
			if err = goleak.Find(before, services); err == nil {
				return
			}
		}
		t.Errorf("goroutines are left: %v", err)
	})
}

func request(id, body string) dedupe.Request {
	return dedupe.Request{
		Scope: "acme/orders", EventID: delivery.EventID(id), Fingerprint: sha256.Sum256([]byte(body)),
		CredentialID: "main", EventType: "order.paid", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Policy: dedupe.Policy{
			Lease: time.Minute, Retention: dedupe.Retention{Receipt: 72 * time.Hour, DeadLetter: time.Hour},
			Record: dedupe.Record{Headers: []string{"Content-Type", "Location"}, MaxBody: 64 << 10},
		},
	}
}

func answer(status int, body string) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{
		Status: status, Body: []byte(body),
		Header: http.Header{"Content-Type": {"text/plain"}, "Location": {"/a", "/b"}},
	}}
}

// apply hands an event to the application, which answers; the claim must be fresh.
func apply(t testing.TB, ledger dedupe.Ledger, r dedupe.Request, result delivery.Result) {
	t.Helper()
	d := claim(t, ledger, r)
	if d.Kind != dedupe.Fresh {
		t.Fatalf("claim of %s: kind %d, want a fresh one", r.EventID, d.Kind)
	}
	settle(t, ledger, r, d.Claim, result)
}

func settle(t testing.TB, ledger dedupe.Ledger, r dedupe.Request, c dedupe.Claim, result delivery.Result) {
	t.Helper()
	if err := ledger.Settle(context.Background(), c, r.Policy.Settle(c, result, 0, nil)); err != nil {
		t.Fatalf("settle: %v", err)
	}
}

func claim(t testing.TB, ledger dedupe.Ledger, r dedupe.Request) dedupe.Decision {
	t.Helper()
	d, err := ledger.Claim(context.Background(), r)
	if err != nil {
		t.Fatalf("claim of %s: %v", r.EventID, err)
	}
	return d
}

// replays claims and wants the recorded answer, by the given tier.
func replays(t testing.TB, c *replica, r dedupe.Request, tier Tier, want delivery.Result) {
	t.Helper()
	before := c.counts.tiers[tier].Load()
	d := claim(t, c, r)
	if d.Kind != dedupe.Replay {
		t.Fatalf("claim of %s: kind %d, want a replay", r.EventID, d.Kind)
	}
	if got, want := fmt.Sprint(*d.Response), fmt.Sprint(want.Response); got != want {
		t.Fatalf("replayed %s, want %s", got, want)
	}
	if c.counts.tiers[tier].Load() != before+1 {
		t.Fatalf("claim of %s was not answered by %s: %+v", r.EventID, tier, c.Stats())
	}
}

// inRedis applies an event on another replica, which leaves, and waits until its result has reached Redis.
func inRedis(t testing.TB, ledger dedupe.Ledger, url string, r dedupe.Request, result delivery.Result) {
	t.Helper()
	other := connected(t, ledger, url)
	defer other.stop()
	apply(t, other, r, result)
	eventually(t, "the result reaches Redis", func() bool { return other.Stats().Stored == 1 })
}

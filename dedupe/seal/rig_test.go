package seal

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/postgres"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// keyText is a key as a line of a file: a different one for each name, the same one each time.
func keyText(name string) string {
	sum := sha256.Sum256([]byte("key " + name))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// keysOf are the named keys in this order; "off" is the word.
func keysOf(t testing.TB, names ...string) *Keys {
	t.Helper()
	var lines []string
	for _, name := range names {
		if name != off {
			name = keyText(name)
		}
		lines = append(lines, name)
	}
	keys, err := ParseKeys([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func ringOf(t testing.TB, names ...string) *Ring { return NewRing(keysOf(t, names...)) }

func keyID(t testing.TB, name string) dedupe.KeyID { return keysOf(t, name).IDs()[0] }

// sealed puts a decorator with these keys over a store.
func sealed(t testing.TB, inner dedupe.Backend, ring *Ring) *Store {
	t.Helper()
	store, err := New(Config{Store: inner, Namespace: "test", Ring: ring})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func embedded(t testing.TB) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func remote(t testing.TB, database string) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Config{URL: database, Namespace: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// refusals is a Watch that remembers.
type refusals struct {
	mu   sync.Mutex
	seen map[string]int
}

func (r *refusals) Unopened(kind dedupe.VaultKind, why *dedupe.SealedError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	r.seen[kind.String()+" "+string(why.Key.EventID)+" "+why.Cause()]++
}

// keeperOver makes the rules over a store.
func keeperOver(t testing.TB, store dedupe.Backend) *dedupe.Keeper {
	t.Helper()
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{
		Store: store, Replica: "test", Worker: true,
		Policy: func(delivery.Scope) (dedupe.Policy, bool) { return policy(), true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

func policy() dedupe.Policy {
	return dedupe.Policy{
		Lease: time.Minute, Retention: dedupe.Retention{Receipt: 72 * time.Hour, DeadLetter: time.Hour},
		Record: dedupe.Record{Headers: []string{"Content-Type"}, MaxBody: 64 << 10},
		Retry:  dedupe.Limit{MaxAttempts: 3, MaxAge: 72 * time.Hour}, Backoff: dedupe.Backoff{Jitter: func() float64 { return 0 }},
	}
}

const canary = "canary-a7b1 secret of the customer"

func request(id string) dedupe.Request {
	return dedupe.Request{
		Scope: "acme/orders", EventID: delivery.EventID(id), Fingerprint: sha256.Sum256([]byte(id)), CredentialID: "main",
		EventType: "order.paid", Policy: policy(),
	}
}

func storedRequest(id string) dedupe.Request {
	r := request(id)
	r.Accept, r.Job = true, func() *dedupe.Job { return job(id) }
	return r
}

func job(id string) *dedupe.Job {
	return &dedupe.Job{
		Method: "POST", Target: "/hooks?token=" + canary, Host: "h", Body: []byte(canary + id),
		Header: http.Header{"X-Canary": {canary, ""}, "Empty": {}},
	}
}

func answer(id string) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{
		Status: 200, Body: []byte(canary + id), Header: http.Header{"Content-Type": {"text/plain"}},
	}}
}

// apply runs an event to its recorded result.
func apply(t testing.TB, ledger dedupe.Ledger, id string) {
	t.Helper()
	r := request(id)
	d, err := ledger.Claim(context.Background(), r)
	if err != nil || d.Kind != dedupe.Fresh {
		t.Fatalf("claim of %s: %+v, %v", id, d, err)
	}
	if err := ledger.Settle(context.Background(), d.Claim, r.Policy.Settle(d.Claim, answer(id), 0, nil)); err != nil {
		t.Fatal(err)
	}
}

func accept(t testing.TB, ledger dedupe.Ledger, id string) {
	t.Helper()
	if d, err := ledger.Claim(context.Background(), storedRequest(id)); err != nil || d.Kind != dedupe.AlreadyQueued {
		t.Fatalf("claim of %s: %+v, %v", id, d, err)
	}
}

// replays claims again and wants the recorded answer, byte for byte.
func replays(t testing.TB, ledger dedupe.Ledger, id string) {
	t.Helper()
	d, err := ledger.Claim(context.Background(), request(id))
	if err != nil || d.Kind != dedupe.Replay || string(d.Response.Body) != canary+id || d.Response.Omitted {
		t.Fatalf("claim of %s again: %+v, %v", id, d, err)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

func database(t testing.TB) string { t.Helper(); return testenv.Postgres(t) }

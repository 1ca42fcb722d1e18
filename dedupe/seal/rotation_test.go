package seal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// rotate goes through a bare store once.
func rotate(t *testing.T, vault dedupe.Vault, change func(*Rotation), names ...string) Report {
	t.Helper()
	r := Rotation{Vault: vault, Namespace: "test", Keys: keysOf(t, names...), Rows: 7, Bytes: 2000}
	if change != nil {
		change(&r)
	}
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func dry(r *Rotation) { r.DryRun = true }

// filled is a ledger with events under each of the given files of keys, one of each kind.
func filled(t *testing.T, inner dedupe.Backend, files ...string) {
	t.Helper()
	for i, file := range files {
		ring := NewRing(nil)
		if file != "" {
			ring.Use(keysOf(t, strings.Fields(file)...))
		}
		keeper := keeperOver(t, sealed(t, inner, ring))
		apply(t, keeper, fmt.Sprint("done_", i))
		accept(t, keeper, fmt.Sprint("job_", i))
	}
}

// all opens everything that filled has put in.
func all(t *testing.T, inner dedupe.Backend, count int, names ...string) {
	t.Helper()
	keeper := keeperOver(t, sealed(t, inner, ringOf(t, names...)))
	for i := range count {
		replays(t, keeper, fmt.Sprint("done_", i))
		store := sealed(t, inner, ringOf(t, names...))
		kept, err := store.Job(t.Context(), dedupe.Key{Scope: "acme/orders", EventID: request(fmt.Sprint("job_", i)).EventID})
		if err != nil || string(kept.Body) != canary+fmt.Sprint("job_", i) {
			t.Fatalf("job %d is %+v, %v", i, kept, err)
		}
	}
}

func TestRotationBringsEverythingUnderTheFirstKey(t *testing.T) {
	for name, inner := range stores(t) {
		t.Run(name, func(t *testing.T) {
			filled(t, inner, "", "a", "b a", "off a", "a")
			counted := rotate(t, inner, dry, "b", "a")
			if got := counted.Requests; got.Found[keyID(t, "a")] != 2 || got.Found[keyID(t, "b")] != 1 || got.Found[dedupe.KeyID{}] != 2 ||
				got.Due != 4 || got.Rewritten != 0 || counted.Left() != 0 {
				t.Errorf("counted %+v", got)
			}
			all(t, inner, 5, "a", "b")
			told := 0
			done := rotate(t, inner, func(r *Rotation) {
				r.Progress = func(r Report) { told = r.Requests.Count() + r.Results.Count() }
			}, "b", "a")
			if told != 10 {
				t.Errorf("told of %d", told)
			}
			for _, tally := range []Tally{done.Requests, done.Results} {
				if tally.Due != 4 || tally.Rewritten != 4 || tally.Changed != 0 || tally.left() != 0 {
					t.Errorf("rotated %+v", tally)
				}
			}
			all(t, inner, 5, "b")
			if again := rotate(t, inner, nil, "b"); again.Requests.Due+again.Results.Due+again.Left() != 0 {
				t.Errorf("again %+v", again)
			}
			// And out of every seal.
			if out := rotate(t, inner, nil, off, "b"); out.Requests.Rewritten != 5 || out.Results.Rewritten != 5 {
				t.Errorf("unsealed %+v", out)
			}
			all(t, inner, 5, off)
		})
	}
}

func stores(t *testing.T) map[string]dedupe.Backend {
	return map[string]dedupe.Backend{"sqlite": embedded(t), "postgres": remote(t, database(t))}
}

func TestRotationLeavesWhatItCannotOpen(t *testing.T) {
	inner := embedded(t)
	filled(t, inner, "a", "lost", "a")
	report := rotate(t, inner, nil, "b", "a")
	if got := report.Requests; got.Unopened[keyID(t, "lost")] != 1 || got.Rewritten != 2 || report.Left() != 2 {
		t.Errorf("rotated %+v", report)
	}
	keeper := keeperOver(t, sealed(t, inner, ringOf(t, "lost", "b")))
	replays(t, keeper, "done_1")
	replays(t, keeper, "done_0")
}

// Nothing about a row but its seal is changed: a replica that works beside it notices nothing.
func TestRotationChangesNothingElse(t *testing.T) {
	for name, inner := range stores(t) {
		t.Run(name, func(t *testing.T) {
			filled(t, inner, "a", "a")
			keeper := keeperOver(t, sealed(t, inner, ringOf(t, "a", "b")))
			before := fmt.Sprint(list(t, keeper))
			rotate(t, inner, nil, "b", "a")
			if after := fmt.Sprint(list(t, keeper)); before != after {
				t.Errorf("it is now\n%s, was\n%s", after, before)
			}
		})
	}
}

func list(t *testing.T, keeper *dedupe.Keeper) (found []string) {
	t.Helper()
	receipts, err := keeper.List(t.Context(), dedupe.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range receipts {
		if r.Response != nil {
			found = append(found, fmt.Sprint(*r.Response))
			r.Response = nil
		}
		found = append(found, fmt.Sprintf("%+v", r))
	}
	return found
}

var errEnd = errors.New("the process ends here")

// mortal is a vault whose process ends before or after one of its writes.
type mortal struct {
	dedupe.Vault
	writes  int
	applied bool // the last one was done, and its answer lost
}

func (m *mortal) Rewrite(ctx context.Context, kind dedupe.VaultKind, items []dedupe.VaultItem) ([]bool, error) {
	if m.writes--; m.writes < 0 {
		if m.applied {
			if _, err := m.Vault.Rewrite(ctx, kind, items); err != nil {
				return nil, err
			}
		}
		return nil, errEnd
	}
	return m.Vault.Rewrite(ctx, kind, items)
}

func TestRotationMayEndAnywhere(t *testing.T) {
	const events = 5
	for _, applied := range []bool{false, true} {
		for writes := range 6 {
			inner := embedded(t)
			filled(t, inner, "a", "", "b a", "a", "a")
			r := Rotation{Vault: &mortal{inner, writes, applied}, Namespace: "test", Keys: keysOf(t, "b", "a"), Rows: 2}
			_, err := r.Run(t.Context())
			if err != nil && !errors.Is(err, errEnd) {
				t.Fatal(err)
			}
			all(t, inner, events, "a", "b") // whatever was done, everything opens
			rotate(t, inner, nil, "b", "a")
			all(t, inner, events, "b")
			if err == nil && writes < 4 {
				t.Fatalf("it did not end after %d writes", writes)
			}
		}
	}
}

func TestRotationStopsWhenItsContextEnds(t *testing.T) {
	inner := embedded(t)
	filled(t, inner, "a", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Rotation{Vault: inner, Namespace: "test", Keys: keysOf(t, "b", "a")}).Run(ctx); err == nil {
		t.Error("it went on")
	}
	all(t, inner, 2, "a")
}

// guilty is a vault in which somebody holds one row.
type guilty struct {
	dedupe.Vault
	id string
}

func (g *guilty) Rewrite(ctx context.Context, kind dedupe.VaultKind, items []dedupe.VaultItem) ([]bool, error) {
	for _, item := range items {
		if string(item.EventID) == g.id {
			return nil, fmt.Errorf("a lock: %w", dedupe.ErrBatch)
		}
	}
	return g.Vault.Rewrite(ctx, kind, items)
}

func TestOneHeldRowDoesNotStopARotation(t *testing.T) {
	inner := embedded(t)
	filled(t, inner, "a", "a", "a")
	report := rotate(t, &guilty{inner, "job_1"}, nil, "b", "a")
	if got := report.Requests; got.Held != 1 || got.Rewritten != 2 || report.Left() != 1 {
		t.Errorf("rotated %+v", got)
	}
	all(t, inner, 3, "b", "a")
}

// Rotations, deliveries, a worker and a person at once: every duplicate is answered byte for byte all the time, nothing is
// run twice, and when the replicas have followed and one more rotation has been, the old key can go.
func TestRotationUnderLoad(t *testing.T) {
	const events, writers = 60, 4
	dsn := database(t)
	inner := remote(t, dsn)
	rings := []*Ring{ringOf(t, "a", "b"), ringOf(t, "a", "b")}
	keepers := []*dedupe.Keeper{keeperOver(t, sealed(t, inner, rings[0])), keeperOver(t, sealed(t, remote(t, dsn), rings[1]))}
	for i := range events {
		apply(t, keepers[i%2], fmt.Sprint("old_", i))
		accept(t, keepers[i%2], fmt.Sprint("job_", i))
	}
	var running sync.WaitGroup
	done := make(chan struct{})
	for n := range writers {
		running.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				keeper := keepers[(n+i)%2]
				apply(t, keeper, fmt.Sprint("new_", n, "_", i))
				replays(t, keepers[i%2], fmt.Sprint("new_", n, "_", i))
				replays(t, keeper, fmt.Sprint("old_", i%events))
			}
		})
	}
	worked := make(chan string, 2*events)
	running.Go(func() { workOff(t, keepers[1], done, worked) })
	rings[0].Use(keysOf(t, "b", "a"))
	var rotating sync.WaitGroup
	for range 2 {
		rotating.Go(func() { rotate(t, inner, nil, "b", "a") })
	}
	rotating.Wait()
	rings[1].Use(keysOf(t, "b", "a"))
	eventually(t, "the jobs are done", func() bool { return len(worked) >= events })
	close(done)
	running.Wait()
	seen := map[string]bool{}
	for len(worked) > 0 {
		id := <-worked
		if seen[id] {
			t.Errorf("%s was run twice", id)
		}
		seen[id] = true
	}
	if report := rotate(t, inner, nil, "b", "a"); report.Left() != 0 {
		t.Errorf("left %+v", report)
	}
	alone := keeperOver(t, sealed(t, inner, ringOf(t, "b")))
	for i := range events {
		replays(t, alone, fmt.Sprint("old_", i))
		replays(t, alone, fmt.Sprint("job_", i))
	}
}

// workOff takes jobs and settles them until done.
func workOff(t *testing.T, keeper *dedupe.Keeper, done <-chan struct{}, worked chan<- string) {
	quotas := []dedupe.Quota{{Scope: "acme/orders", Most: 3, Policy: policy()}}
	for {
		taken, err := keeper.Take(context.Background(), quotas, 3)
		if err != nil {
			t.Errorf("take: %v", err)
		}
		for _, work := range taken.Works {
			id := string(work.Claim.EventID)
			if string(work.Job.Body) != canary+id {
				t.Errorf("%s has the body %q", id, work.Job.Body)
			}
			if err := keeper.Settle(context.Background(), work.Claim, work.Policy.Settle(work.Claim, answer(id), 0, nil)); err != nil {
				t.Errorf("settle: %v", err)
			}
			worked <- id
		}
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

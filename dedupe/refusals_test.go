package dedupe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// waiting is a store of queued rows, some of which somebody locks: what wants them waits for half a second and is refused.
type waiting struct {
	Backend
	mu     sync.Mutex
	rows   []Row
	locked map[Key]bool
	down   bool
	asked  []delivery.Scope // by the last look
	tried  map[Key]int      // claims that locks refused, alone
}

const lockWait = 500 * time.Millisecond

func newWaiting() *waiting { return &waiting{locked: map[Key]bool{}, tried: map[Key]int{}} }

func (w *waiting) add(scope delivery.Scope, jobs, locked int) {
	for i := range jobs {
		key := Key{Scope: scope, EventID: delivery.EventID(fmt.Sprintf("evt_%03d", i))}
		w.rows = append(w.rows, Row{Key: key, State: Queued, Token: Token{1}, HasJob: true})
		w.locked[key] = i < locked
	}
}

func (w *waiting) Due(_ context.Context, scopes []delivery.Scope, limit int) (due Due, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = scopes
	found := map[delivery.Scope]int{}
	for _, row := range w.rows {
		if found[row.Scope]++; slices.Contains(scopes, row.Scope) && found[row.Scope] <= limit {
			due.Rows = append(due.Rows, row)
		}
	}
	return due, nil
}

func (w *waiting) Move(_ context.Context, moves []Move) ([]bool, error) {
	if w.down {
		return nil, errNoRoute
	}
	if w.refuses(moves) {
		<-time.After(lockWait)
		return nil, fmt.Errorf("a lock: %w", ErrBatch)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, move := range moves {
		w.rows = slices.DeleteFunc(w.rows, func(row Row) bool { return row.Key == move.Key })
		if move.To == Queued { // given back
			w.rows = append(w.rows, Row{Key: move.Key, State: Queued, Token: move.Token, HasJob: true})
		}
	}
	return slices.Repeat([]bool{true}, len(moves)), nil
}

func (w *waiting) refuses(moves []Move) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	locked := slices.IndexFunc(moves, func(move Move) bool { return w.locked[move.Key] })
	if locked >= 0 && len(moves) == 1 {
		w.tried[moves[0].Key]++
	}
	return locked >= 0
}

func (w *waiting) unlock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.locked)
}

func (w *waiting) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.rows)
}

func (w *waiting) Read(context.Context, []Key) ([]Row, error) { return nil, errNoRoute }

func (w *waiting) Requests(_ context.Context, keys []Key) ([]*Job, error) {
	return slices.Repeat([]*Job{{}}, len(keys)), nil
}

// takes lets a worker look once and counts what it takes of each scope.
func takes(t *testing.T, k *Keeper, most int, scopes ...delivery.Scope) map[delivery.Scope]int {
	t.Helper()
	var quotas []Quota
	for _, scope := range scopes {
		quotas = append(quotas, Quota{Scope: scope, Most: most, Policy: Policy{Lease: time.Minute}})
	}
	taken, err := k.Take(t.Context(), quotas, 256)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[delivery.Scope]int{}
	for _, work := range taken.Works {
		counts[work.Claim.Scope]++
	}
	return counts
}

func workerOf(t *testing.T, store Backend) *Keeper {
	t.Helper()
	k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Jobs whose row somebody locks are tried every ten seconds. In between their scope goes on behind them, and no look waits.
func TestLockedJobsArePassedOver(t *testing.T) {
	const locked = 3
	synctest.Test(t, func(t *testing.T) {
		store := newWaiting()
		store.add("acme/a", 40, locked)
		k, oldest := workerOf(t, store), store.rows[0].Key
		for look := range locked {
			if got := takes(t, k, 1, "acme/a"); got["acme/a"] != 0 {
				t.Fatalf("look %d: taken %v", look, got)
			}
		}
		began := time.Now()
		for look := range 20 {
			if got := takes(t, k, 1, "acme/a"); got["acme/a"] != 1 || time.Since(began) > 0 {
				t.Fatalf("look %d after %v: taken %v", look, time.Since(began), got)
			}
		}
		<-time.After(11 * time.Second)
		if got := takes(t, k, 1, "acme/a"); got["acme/a"] != 0 || store.tried[oldest] != 2 {
			t.Errorf("after a while: taken %v, tried %d times", got, store.tried[oldest])
		}
		<-time.After(11 * time.Second)
		store.unlock()
		if got := takes(t, k, 1, "acme/a"); got["acme/a"] != 1 || store.rows[0].Key == oldest {
			t.Errorf("after the lock: taken %v, and not the oldest", got)
		}
	})
}

// However many rows of however many scopes are locked, and in whatever batches their claims fly, each look ends soon, and
// what it could claim is taken: by the first one, where one batch held all claims.
func TestManyLockedJobsHoldNobodyUp(t *testing.T) {
	for _, batch := range []int{256, 64, 16} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testManyLockedJobs(t, batch) })
		})
	}
}

func testManyLockedJobs(t *testing.T, batch int) {
	store, scopes := newWaiting(), []delivery.Scope{"calm/a"}
	store.add("calm/a", 3, 0)
	store.add("flood/a", 300, 200)
	for n := range 30 {
		scopes = append(scopes, delivery.Scope(fmt.Sprintf("locked/%02d", n)))
		store.add(scopes[n+1], 4, 2)
	}
	scopes = append(scopes, "flood/a")
	k, err := NewKeeper(KeeperConfig{Store: store, Replica: "a", Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	calm := 3
	for look := 0; calm > 0 || slices.Contains(store.asked, "flood/a"); look++ {
		began := time.Now()
		calm -= takes(t, k, 150, scopes...)["calm/a"]
		if took := time.Since(began); took > 2*lockWait+lockPatience {
			t.Errorf("look %d took %v", look, took)
		}
		if calm > 0 && batch == 256 || look > 20 {
			t.Fatalf("after look %d %d of the calm scope are left, and asked was for %v", look, calm, store.asked)
		}
	}
	store.unlock()
	for look := 0; store.left() > 0; look++ {
		if look > 20 {
			t.Fatalf("%d jobs are left after the locks", store.left())
		}
		<-time.After(5 * time.Second)
		takes(t, k, 150, scopes...)
	}
}

// A ledger that is away refuses everything, which says nothing about any one job.
func TestALedgerAwayPassesNothingOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newWaiting()
		store.add("acme/a", 20, 0)
		k := workerOf(t, store)
		store.down = true
		if got := takes(t, k, 20, "acme/a"); len(got) != 0 {
			t.Fatalf("taken %v", got)
		}
		store.down = false
		if got := takes(t, k, 20, "acme/a"); got["acme/a"] != 20 {
			t.Errorf("taken %v when it is back", got)
		}
	})
}

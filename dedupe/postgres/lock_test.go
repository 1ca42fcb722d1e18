package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// A row that somebody holds in psql fails a batch as a whole, and alone only itself; nothing of it is written.
func TestLockedRowIsToBlame(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.LockTimeout = 50 * time.Millisecond }), connect(t, dsn)
	rows := batch("evt_", 0, 3)
	insert(t, s, rows...)
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts WHERE event_id = $1 FOR UPDATE", []byte(rows[1].EventID))
	if _, err := s.Move(t.Context(), moves(rows)); !errors.Is(err, dedupe.ErrBatch) {
		t.Fatalf("the batch: %v", err)
	}
	if got := read(t, s, string(rows[0].EventID)); got.State != dedupe.Claimed {
		t.Fatalf("a refused batch was applied: %+v", got)
	}
	move(t, s, applied(rows[0]))
	move(t, s, applied(rows[2]))
	if _, err := s.Move(t.Context(), moves(rows[1:2])); !errors.Is(err, dedupe.ErrBatch) || errors.Is(err, dedupe.ErrRow) {
		t.Fatalf("the locked row: %v", err)
	}
	if got := read(t, s, string(rows[1].EventID)); got.State != dedupe.Claimed {
		t.Fatalf("reading waits for nobody: %+v", got)
	}
	exec(t, conn, "COMMIT")
	if made := move(t, s, applied(rows[1])); !made[0] {
		t.Fatal("the row was spoiled")
	}
}

// A row that is being deleted keeps an insert of the same key waiting, no longer than the lock timeout.
func TestInsertDoesNotWaitForEver(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.LockTimeout = 50 * time.Millisecond }), connect(t, dsn)
	row := claimed("evt_1")
	insert(t, s, row)
	exec(t, conn, "BEGIN")
	exec(t, conn, "DELETE FROM sidecar_test.receipts")
	if _, err := s.Insert(t.Context(), []dedupe.NewRow{row}); !errors.Is(err, dedupe.ErrBatch) {
		t.Fatalf("got %v", err)
	}
	exec(t, conn, "COMMIT")
	if found := insert(t, s, row); !found[0].Inserted {
		t.Fatalf("got %+v", found)
	}
}

// A row locked in another session delays its own event only, and that one goes on as soon as the lock is gone.
func TestLedgerIsNotHeldUpByOneLockedRow(t *testing.T) {
	const lease = time.Minute
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.LockTimeout = 100 * time.Millisecond }), connect(t, dsn)
	k := keeper(t, s, lease)
	claims := make([]dedupe.Claim, 20)
	for i := range claims {
		decision, err := k.Claim(t.Context(), request(fmt.Sprintf("evt_%02d", i), lease))
		if err != nil || decision.Kind != dedupe.Fresh {
			t.Fatalf("claim: %+v, %v", decision, err)
		}
		claims[i] = decision.Claim
	}
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts WHERE event_id = 'evt_07' FOR UPDATE")
	guilty := make(chan error, 1)
	var others sync.WaitGroup
	for i, claim := range claims {
		if i == 7 {
			go func() { guilty <- k.Settle(t.Context(), claim, result(claim, lease)) }()
			continue
		}
		others.Go(func() {
			if err := k.Settle(t.Context(), claim, result(claim, lease)); err != nil {
				t.Errorf("settle %s: %v", claim.EventID, err)
			}
		})
	}
	others.Wait()
	select {
	case err := <-guilty:
		t.Fatalf("the locked row was settled: %v", err)
	default:
	}
	exec(t, conn, "COMMIT")
	if err := <-guilty; err != nil {
		t.Fatalf("after the lock: %v", err)
	}
}

// Expired claims that somebody has locked, more of them than a batch takes, keep neither the others from being swept nor
// anything from being forgotten. They are found again.
func TestSweepingPassesOverWhatIsLocked(t *testing.T) {
	const locked, free = 60, 20
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.LockTimeout = 20 * time.Second }), connect(t, dsn)
	k, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: s, Replica: "a", Grace: time.Second, SweepBatch: 50})
	if err != nil {
		t.Fatal(err)
	}
	insert(t, s, batch("locked_", 0, locked)...)
	insert(t, s, batch("free_", 0, free)...)
	exec(t, conn, "UPDATE sidecar_test.receipts SET due = now() - interval '1 hour' WHERE event_id < 'l'")
	exec(t, conn, "UPDATE sidecar_test.receipts SET due = now() - interval '2 hours' WHERE event_id > 'l'")
	finished(t, s, conn, "evt_", 1)
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts WHERE event_id > 'l' FOR UPDATE")
	if swept, err := k.Sweep(t.Context()); err != nil || swept.Expired != free || swept.Forgotten != 1 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	if swept, err := k.Sweep(t.Context()); err != nil || swept.Expired != 0 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	exec(t, conn, "COMMIT")
	expired := 0
	for more := true; more; {
		swept, err := k.Sweep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		expired, more = expired+swept.Expired, swept.More
	}
	if expired != locked {
		t.Errorf("%d claims are swept when they are free, want %d", expired, locked)
	}
}

// Dead events that somebody has locked, as many of them as a batch takes, keep no other's kept request from being forgotten.
func TestForgettingRequestsPassesOverWhatIsLocked(t *testing.T) {
	const locked, free = 10, 3
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.LockTimeout = 20 * time.Second }), connect(t, dsn)
	rows := append(batch("locked_", 0, locked), batch("free_", 0, free)...)
	insert(t, s, rows...)
	for _, row := range rows {
		move(t, s, deadWithRequest(row))
	}
	exec(t, conn, "UPDATE sidecar_test.jobs SET until = now() - interval '1 hour' WHERE event_id < 'l'")
	exec(t, conn, "UPDATE sidecar_test.jobs SET until = now() - interval '2 hours' WHERE event_id > 'l'")
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts WHERE event_id > 'l' FOR UPDATE")
	for i, want := range []int{free, 0} {
		if _, jobs, err := s.Forget(t.Context(), locked); err != nil || jobs != want {
			t.Fatalf("sweep %d: forgot %d, %v", i, jobs, err)
		}
	}
	exec(t, conn, "COMMIT")
	for i, want := range []int{locked - 1, 1, 0} {
		if _, jobs, err := s.Forget(t.Context(), locked-1); err != nil || jobs != want {
			t.Fatalf("sweep %d when they are free: forgot %d, %v", i, jobs, err)
		}
	}
}

// tried counts how often its store is asked for claims of a key.
type tried struct {
	*Store
	key   dedupe.Key
	count atomic.Int64
}

func (s *tried) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	if slices.ContainsFunc(moves, func(m dedupe.Move) bool { return m.Key == s.key }) {
		s.count.Add(1)
	}
	return s.Store.Move(ctx, moves)
}

// A queued event whose row somebody locks delays neither its scope's other events nor anybody else's, look after look, and
// is taken when the lock is gone.
func TestAWorkerIsNotHeldUpByALockedRow(t *testing.T) {
	const lease, others = time.Minute, delivery.Scope("other/shop")
	dsn := freshDB(t)
	s := &tried{Store: open(t, dsn, func(c *Config) { c.LockTimeout = 50 * time.Millisecond }), key: keyOf("evt_locked")}
	workerFor := func(refused time.Duration) *dedupe.Keeper {
		k, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: s, Replica: "test", Refused: refused})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := workerFor(time.Hour)
	accept := func(scope delivery.Scope, id string) {
		r := request(id, lease)
		r.Scope, r.Accept = scope, true
		r.Job = func() *dedupe.Job {
			return &dedupe.Job{Method: "POST", Target: "/", Header: map[string][]string{}, Body: []byte(id)}
		}
		if decision, err := k.Claim(t.Context(), r); err != nil || !decision.First {
			t.Fatalf("%s: %+v, %v", id, decision, err)
		}
	}
	take := func(by *dedupe.Keeper, scopes ...delivery.Scope) (taken []string) {
		var quotas []dedupe.Quota
		for _, scope := range scopes {
			quotas = append(quotas, dedupe.Quota{Scope: scope, Most: 1, Policy: policy(lease)})
		}
		got, err := by.Take(t.Context(), quotas, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, work := range got.Works {
			taken = append(taken, string(work.Claim.Scope)+" "+string(work.Claim.EventID))
		}
		return taken
	}
	accept(testScope, "evt_locked")
	accept(testScope, "evt_00")
	conn := connect(t, dsn)
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts WHERE event_id = 'evt_locked' FOR UPDATE")
	if taken := take(k, testScope); len(taken) != 0 || s.count.Load() != 1 {
		t.Fatalf("taken %q after %d tries", taken, s.count.Load())
	}
	for i := range 20 {
		id := fmt.Sprintf("evt_%02d", i)
		accept(others, id)
		accept(testScope, fmt.Sprintf("evt_%02d", i+1))
		if taken := take(k, testScope, others); !slices.Equal(taken, []string{string(testScope) + " " + id, string(others) + " " + id}) {
			t.Fatalf("look %d: taken %q", i, taken)
		}
	}
	if tries := s.count.Load(); tries != 1 {
		t.Errorf("the locked row was tried %d times", tries)
	}
	impatient := workerFor(time.Millisecond)
	if taken := take(impatient, testScope); len(taken) != 0 {
		t.Fatalf("taken %q", taken)
	}
	exec(t, conn, "COMMIT")
	eventually(t, "the row is taken", func() bool {
		return slices.Equal(take(impatient, testScope), []string{string(testScope) + " evt_locked"})
	})
}

// Batches that bind the same contents in opposite order lock each other out; the server breaks that up, and what it
// breaks is repeated.
func TestCrossedBindingsDoNotFail(t *testing.T) {
	dsn := freshDB(t)
	stores := []*Store{open(t, dsn, nil), open(t, dsn, nil)}
	for round := range 20 {
		var group sync.WaitGroup
		for i, s := range stores {
			group.Go(func() {
				rows := crossed(round, i == 0)
				err := dedupe.ErrBatch
				for tries := 0; errors.Is(err, dedupe.ErrBatch) && tries < 20; tries++ {
					_, err = s.Insert(t.Context(), rows)
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		group.Wait()
	}
}

func crossed(round int, forth bool) []dedupe.NewRow {
	const size = 32
	rows := batch(fmt.Sprintf("evt_%v_%d_", forth, round), 0, size)
	for i := range rows {
		content := i
		if !forth {
			content = size - 1 - i
		}
		rows[i].Binding = delivery.HashParts(fmt.Appendf(nil, "%d/%d", round, content))
	}
	return rows
}

// Under an isolation level that the database's owner has made the default, what cannot be serialized is repeated.
func TestSerializableByDefault(t *testing.T) {
	dsn := freshDB(t) + "&options=-c%20default_transaction_isolation%3Dserializable"
	stores := []*Store{open(t, dsn, nil), open(t, dsn, nil)}
	insert(t, stores[0], claimed("first"))
	insert(t, stores[1], claimed("first"))
	for round := range 30 {
		rows := batch(fmt.Sprintf("evt_%02d_", round), 0, 4)
		inserted := make(chan bool, 8)
		var group sync.WaitGroup
		for _, s := range stores {
			group.Go(func() {
				found, err := s.Insert(t.Context(), rows)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				for _, one := range found {
					inserted <- one.Inserted
				}
			})
		}
		group.Wait()
		close(inserted)
		count := 0
		for one := range inserted {
			if one {
				count++
			}
		}
		if count != len(rows) {
			t.Fatalf("round %d: %d of %d rows were inserted", round, count, len(rows))
		}
	}
}

// What the database refuses for its value fails alone, for good, and is not quoted in the error.
func TestRefusedValueIsToBlame(t *testing.T) {
	s := open(t, freshDB(t), nil)
	rows := batch("evt_", 0, 3)
	var long strings.Builder // longer than an index can hold, even compressed
	for i := range 2000 {
		fmt.Fprintf(&long, "%x", delivery.HashParts(fmt.Append(nil, i)))
	}
	rows[1].EventID = delivery.EventID(long.String())
	if _, err := s.Insert(t.Context(), rows); !errors.Is(err, dedupe.ErrBatch) {
		t.Fatalf("the batch: %v", err)
	}
	_, err := s.Insert(t.Context(), rows[1:2])
	if !errors.Is(err, dedupe.ErrRow) || len(err.Error()) > 200 {
		t.Fatalf("the row: %.200v", err)
	}
	for _, i := range []int{0, 2} {
		if found := insert(t, s, rows[i]); !found[0].Inserted {
			t.Fatalf("got %+v", found)
		}
	}
}

// A call that a person cancels in psql is no harm: it is an error of the one call.
func TestCancelledStatement(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns, c.LockTimeout = 1, 20*time.Second }), connect(t, dsn)
	row := claimed("evt_1")
	insert(t, s, row)
	pid := backend(t, s)
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts FOR UPDATE")
	done := make(chan error, 1)
	go func() {
		_, err := s.Move(context.Background(), []dedupe.Move{applied(row)})
		done <- err
	}()
	awaitLockWait(t, conn, pid)
	exec(t, conn, "SELECT pg_cancel_backend($1)", pid)
	unknown(t, <-done)
	exec(t, conn, "COMMIT")
	if made := move(t, s, applied(row)); !made[0] {
		t.Fatal("the row was spoiled")
	}
}

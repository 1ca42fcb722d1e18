package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// finished makes events that are over: a receipt, a row of evidence and a kept request each.
func finished(t *testing.T, s *Store, conn *pgx.Conn, prefix string, count int) {
	t.Helper()
	for i := range count {
		row := claimed(prefix + fmt.Sprint(i))
		insert(t, s, row)
		m := applied(row)
		m.DropJob, m.Job = false, &dedupe.Job{Method: "POST", Target: "/"}
		m.Evidence = &dedupe.Evidence{From: dedupe.Claimed, To: dedupe.Applied}
		move(t, s, m)
	}
	exec(t, conn, "UPDATE sidecar_test.receipts SET due = now() - interval '1 hour' WHERE state = 4 AND event_id <> 'warm'")
}

// deadWithRequest ends a claim: the event is dead, and its request kept for an hour.
func deadWithRequest(row dedupe.NewRow) dedupe.Move {
	m := applied(row)
	m.To, m.Response, m.DropJob, m.Job, m.JobFor = dedupe.Dead, nil, false, &dedupe.Job{Method: "POST", Target: "/"}, time.Hour
	return m
}

// holdings are the rows of each kind.
func holdings(t *testing.T, conn *pgx.Conn) [3]int {
	t.Helper()
	var n [3]int
	for i, table := range []string{"receipts", "evidence", "jobs"} {
		n[i] = ask[int](t, conn, "SELECT count(*) FROM sidecar_test."+table+" WHERE event_id <> 'warm'")
	}
	return n
}

// halves are the events of which a part is missing.
func halves(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	return ask[int](t, conn, `SELECT count(*) FROM sidecar_test.receipts r FULL JOIN sidecar_test.evidence e
		USING (scope_id, event_id) FULL JOIN sidecar_test.jobs j USING (scope_id, event_id)
		WHERE event_id <> 'warm' AND (r.state IS NULL OR e.attempt IS NULL OR j.until IS NULL)`)
}

// A sweeper may be killed anywhere: an event is there as a whole or gone as a whole, and the next sweep finishes.
func TestKilledSweepLeavesNothingHalf(t *testing.T) {
	const events, limit = 10, 4
	for name, fault := range map[string]func(t *testing.T, s *Store, dsn string, through *faultLine){
		"before it arrives":   func(t *testing.T, _ *Store, _ string, f *faultLine) { f.refused(t) },
		"after it was made":   func(t *testing.T, _ *Store, _ string, f *faultLine) { f.unheard(t) },
		"while it is waiting": func(t *testing.T, s *Store, dsn string, _ *faultLine) { terminated(t, s, dsn) },
	} {
		t.Run(name, func(t *testing.T) {
			s, tap, dsn := tapped(t)
			conn := connect(t, dsn)
			finished(t, s, conn, "evt_", events)
			if gone, _, err := s.Forget(t.Context(), limit); err != nil || gone != limit { // prepared
				t.Fatalf("forgot %d: %v", gone, err)
			}
			fault(t, s, dsn, &faultLine{tap: tap, sweep: func() error { _, _, err := s.Forget(t.Context(), limit); return err }})
			left := holdings(t, conn)
			if n := halves(t, conn); n > 0 || left[0] != events-limit && left[0] != events-2*limit {
				t.Fatalf("%d events are there in part; left are %v", n, left)
			}
			for range 4 {
				if _, _, err := s.Forget(t.Context(), limit); err != nil {
					t.Fatal(err)
				}
			}
			if left := holdings(t, conn); left != [3]int{} {
				t.Fatalf("the next sweeps left %v", left)
			}
		})
	}
}

// terminated ends a sweep's session while the statement waits, with its receipts deleted, for a row of evidence.
func terminated(t *testing.T, s *Store, dsn string) {
	t.Helper()
	conn, other := connect(t, dsn), connect(t, dsn)
	s.lock = "20s"
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.evidence FOR UPDATE")
	pid := backend(t, s)
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.Forget(t.Context(), 4)
		ended <- err
	}()
	awaitLockWait(t, other, pid)
	exec(t, other, "SELECT pg_terminate_backend($1)", pid)
	unknown(t, <-ended)
	exec(t, conn, "COMMIT")
}

// What somebody has locked is passed over, without waiting, and found again when it is free.
func TestForgettingPassesOverWhatIsLocked(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.LockTimeout = 20 * time.Second }), connect(t, dsn)
	const events = 6
	finished(t, s, conn, "evt_", events)
	dead := claimed("dead")
	insert(t, s, dead)
	move(t, s, deadWithRequest(dead))
	exec(t, conn, "UPDATE sidecar_test.jobs SET until = now() - interval '1 hour' WHERE event_id = 'dead'")
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts WHERE event_id IN ('evt_0', 'evt_3', 'dead') FOR UPDATE")
	for i, want := range []int{events - 2, 0, 0} {
		began := time.Now()
		gone, jobs, err := s.Forget(t.Context(), events)
		if err != nil || gone != want || jobs != 0 {
			t.Fatalf("sweep %d: forgot %d and %d, %v", i, gone, jobs, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("the sweep waited %v", took)
		}
	}
	exec(t, conn, "COMMIT")
	if gone, jobs, err := s.Forget(t.Context(), events); err != nil || gone != 2 || jobs != 1 {
		t.Fatalf("after the lock: forgot %d and %d, %v", gone, jobs, err)
	}
	if left := holdings(t, conn); left != [3]int{1, 0, 0} {
		t.Fatalf("left are %v", left)
	}
}

// The clock by which something is over is the database's: what became due while it jumped ahead is found at once, and
// what is over after it was set back, too.
func TestSweepsFollowTheDatabasesClock(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			dsn := freshDB(t)
			s, conn := open(t, dsn, nil), connect(t, dsn)
			if gone, _, err := s.Forget(t.Context(), 10); err != nil || gone != 0 {
				t.Fatalf("forgot %d: %v", gone, err)
			}
			if rows, err := s.Expired(t.Context(), 0, 10); err != nil || len(rows) != 0 {
				t.Fatalf("expired are %v, %v", rows, err)
			}
			s.forgotten.passed(jump) // as if the clock had just been set
			s.expired.passed(jump)
			finished(t, s, conn, "evt_", 1)
			insert(t, s, claimed("expired"))
			exec(t, conn, "UPDATE sidecar_test.receipts SET due = now() - interval '20 hours'")
			gone, found := 0, 0
			for range 2 {
				n, _, err := s.Forget(t.Context(), 10)
				if err != nil {
					t.Fatal(err)
				}
				rows, err := s.Expired(t.Context(), 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				gone, found = gone+n, max(found, len(rows))
			}
			if gone != 1 || found != 1 {
				t.Errorf("%d were forgotten and %d expired", gone, found)
			}
		})
	}
}

// Receipts come and go for ever in the space of those that are there at the same time, as long as vacuum comes by.
func TestForgettingDoesNotBloat(t *testing.T) {
	const generations, size = 5, 20_000
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("first"))
	for _, table := range []string{"receipts", "evidence"} {
		exec(t, conn, "ALTER TABLE sidecar_test."+table+" SET (autovacuum_enabled = off)")
	}
	var sizes [generations]int64
	for i := range generations {
		overdue(t, conn, i*size, size)
		exec(t, conn, "VACUUM (ANALYZE) sidecar_test.receipts, sidecar_test.evidence")
		for more := true; more; {
			gone, _, err := s.Forget(t.Context(), 500)
			if err != nil {
				t.Fatal(err)
			}
			more = gone > 0
		}
		exec(t, conn, "VACUUM sidecar_test.receipts, sidecar_test.evidence")
		sizes[i] = ask[int64](t, conn, `SELECT pg_total_relation_size('sidecar_test.receipts')
			+ pg_total_relation_size('sidecar_test.evidence')`)
	}
	t.Logf("bytes after each generation: %d", sizes)
	if first, last := sizes[1], sizes[generations-1]; last > first+first/10 {
		t.Errorf("the ledger has grown from %d to %d bytes", first, last)
	}
	if n := ask[int](t, conn, "SELECT count(*) FROM sidecar_test.receipts"); n != 1 {
		t.Errorf("%d receipts are left", n)
	}
}

// faultLine is what a network does to one sweep.
type faultLine struct {
	tap   *testenv.Tap
	sweep func() error
}

func (f *faultLine) refused(t *testing.T) {
	t.Helper()
	f.tap.Refuse()
	unknown(t, f.sweep())
	f.tap.Pass()
}

func (f *faultLine) unheard(t *testing.T) {
	t.Helper()
	cut := f.tap.CutBeforeReply(committed)
	unknown(t, f.sweep())
	<-cut
}

package postgres

import (
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func TestFrontierLooksBackFarEnough(t *testing.T) {
	var f frontier
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	if f.back(at(0)) != always {
		t.Fatal("the first look is not at everything")
	}
	f.cleared(at(0), always)
	if got := f.back(at(time.Minute)); got != time.Minute+commitMargin {
		t.Fatalf("a minute later it looks back %v", got)
	}
	f.cleared(at(time.Minute), time.Minute+commitMargin)
	if got := f.back(at(3 * time.Minute)); got != 2*time.Minute+commitMargin {
		t.Fatalf("two minutes after the last clear look it looks back %v", got)
	}
	f.cleared(at(fullLook), commitMargin)
	if got := f.back(at(fullLook + time.Second)); got != always {
		t.Fatalf("after an hour it looks back %v", got)
	}
}

// One long transaction keeps vacuum from removing what is gone. Sweeping goes on at the same cost.
func TestSweepingBehindALongTransaction(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	sweep := func() {
		t.Helper()
		if _, err := s.Expired(t.Context(), 0, 100); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Forget(t.Context(), 10_000); err != nil {
			t.Fatal(err)
		}
	}
	sweep() // the first looks are at everything
	exec(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	exec(t, conn, "SELECT FROM sidecar_test.receipts LIMIT 1")
	other := connect(t, dsn)
	past := func(state dedupe.State, id string) {
		exec(t, other, `INSERT INTO sidecar_test.receipts SELECT now(), now(), now() - interval '1 day', 1, 1, 0, 1, $1, 0, 2,
			0, 'token', 'print', ($2 || i)::bytea, '', '', '', '', '' FROM generate_series(1, 5000) i`, int16(state), id)
	}
	past(dedupe.Claimed, "claimed_")
	past(dedupe.Applied, "applied_")
	exec(t, other, "DELETE FROM sidecar_test.receipts")
	exec(t, other, "VACUUM sidecar_test.receipts")
	before := readStats(t, s, other)
	for range 5 {
		sweep()
	}
	after := readStats(t, s, other)
	if read := after.indexRead - before.indexRead; read > 500 {
		t.Fatalf("%d index entries were read", read)
	}
}

// A claim whose transaction was slow to commit is found although a younger one was before.
func TestSlowCommitIsNotOverlooked(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	if _, err := s.Expired(t.Context(), 0, 10); err != nil {
		t.Fatal(err)
	}
	insert(t, s, claimed("evt_1"))
	if err := age(t, conn, keyOf("evt_1"), commitMargin/2); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Expired(t.Context(), 0, 10)
	if err != nil || len(rows) != 1 || rows[0].EventID != "evt_1" {
		t.Fatalf("got %+v, %v", rows, err)
	}
}

// passed tells that time has passed which no clock has shown: a test's.
func (f *frontier) passed(by time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clear, f.full = f.clear.Add(-by), f.full.Add(-by)
}

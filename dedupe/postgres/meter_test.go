package postgres

import (
	"context"
	"math"
	"net/url"
	"testing"
	"time"
)

// Of a large table a sample of its pages is read, which tells nearly the same.
func TestALargeLedgerIsMeasuredBySample(t *testing.T) {
	const receipts, sample = 80_000, 4 << 20
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	s.sample = sample
	insert(t, s, claimed("first"))
	exec(t, conn, "ALTER TABLE sidecar_test.receipts SET (autovacuum_enabled = off)") // it would read pages, too
	prefilled(t, conn, s, receipts)
	// A fifth of them came in lately. Receipts of one time are on the same pages, as in a real ledger.
	exec(t, conn, "UPDATE sidecar_test.receipts SET created = now() - interval '3 days' WHERE ctid < '(1500,0)'")
	exec(t, conn, "VACUUM FULL sidecar_test.receipts")
	recent := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.receipts WHERE created > now() - interval '1 day'")
	pagesRead := func() int64 {
		t.Helper()
		reported(t, s, conn)
		return ask[int64](t, conn, "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'receipts'")
	}
	before := pagesRead()
	m, err := s.Measure(t.Context(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	table := m.Table("receipts")
	if table.Share >= 1 || table.Share < 0.1 {
		t.Fatalf("looked at a share of %v of %d bytes", table.Share, table.Heap)
	}
	near := func(what string, got, want int64, by float64) {
		t.Helper()
		if off := math.Abs(float64(got-want)) / float64(want); off > by {
			t.Errorf("%s are %d, want about %d", what, got, want)
		}
	}
	near("receipts", table.Rows, receipts+1, 0.1)
	for _, in := range m.Inflow {
		near("receipts of "+string(in.Scope), in.Receipts, receipts+1, 0.1)
		near("lately", in.Recent, recent, 0.25)
	}
	for _, index := range table.Indexes {
		if index.Name == "receipts_pkey" || index.Name == "receipts_expiry" {
			near("entries of "+index.Name, index.Entries, table.Rows, 0.01)
		}
	}
	if table.Unused > 0.1 {
		t.Errorf("a table just rewritten has %.0f %% unused", 100*table.Unused)
	}
	if bytes := (pagesRead() - before) * 8192; bytes > 5*sample/2 { // twice a sample
		t.Errorf("%d bytes were read", bytes)
	}
}

// What was deleted and not yet rewritten is unused.
func TestUnusedSpaceIsTold(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("first"))
	overdue(t, conn, 0, 20_000)
	unused := func() float64 {
		t.Helper()
		m, err := s.Measure(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return m.Table("receipts").Unused
	}
	if got := unused(); got > 0.05 {
		t.Errorf("of full pages %.0f %% are unused", 100*got)
	}
	exec(t, conn, "DELETE FROM sidecar_test.receipts WHERE event_id > (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY event_id) FROM sidecar_test.receipts)")
	if got := unused(); got < 0.45 || got > 0.55 {
		t.Errorf("of half empty pages %.0f %% are unused", 100*got)
	}
}

// Whoever owns no more than the schema can measure it, and so can a pooled session in the simple protocol.
func TestMeasuringNeedsTheSchemaOnly(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	exec(t, conn, `DO $$ BEGIN CREATE ROLE meter LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	exec(t, conn, "ALTER SCHEMA sidecar_test OWNER TO meter")
	exec(t, conn, `DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'sidecar_test'::regnamespace AND relkind IN ('r', 'v')
		LOOP EXECUTE format('ALTER TABLE sidecar_test.%I OWNER TO meter', name); END LOOP; END $$`)
	t.Cleanup(func() { _, _ = conn.Exec(context.Background(), "DROP OWNED BY meter CASCADE; DROP ROLE meter") })
	owner := open(t, asRole(t, dsn, "meter"), nil)
	simple := harnessPooled(t, "simple_protocol").Store.(*Store)
	insert(t, simple, claimed("evt_1"))
	for _, store := range []*Store{owner, simple} {
		m, err := store.Measure(t.Context(), time.Hour)
		if err != nil || m.Table("receipts").Rows != 1 || len(m.Inflow) != 1 || m.Inflow[0].Recent != 1 {
			t.Errorf("measured %+v, %v", m, err)
		}
	}
}

func asRole(t *testing.T, dsn, role string) string {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.User(role)
	return address.String()
}

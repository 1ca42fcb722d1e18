package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// prefilled makes receipts of one scope by the hundred thousand; every fiftieth is over.
func prefilled(t *testing.T, conn *pgx.Conn, s *Store, count int) {
	t.Helper()
	ids, err := s.names.intern(t.Context(), []name{scopeOf(testScope), {kind: originName, a: "key-2026", b: "order.created"}})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, `INSERT INTO sidecar_test.receipts
		SELECT now(), now(), now() + CASE WHEN i % 50 = 0 THEN interval '-1 hour' ELSE interval '7 days' END,
		       $1, 1, 0, 1, 4, 200, 0, 0, decode(md5(i::text), 'hex'), sha256(int8send(i)), ('old_' || i)::bytea,
		       '', '', '', '\x01', 'ok' FROM generate_series(1, $2::bigint) i`, ids[scopeOf(testScope)], count)
}

// What was planned on an empty table and kept must serve a full one: every look-up by both columns of the key, nothing
// by reading a table or a scope.
func TestPlansOfAnEmptyTableServeAFullOne(t *testing.T) {
	const count = 100_000
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	everything(t, s, "young")
	exec(t, conn, "VACUUM ANALYZE sidecar_test.receipts") // now it is known to be tiny
	for i := range 7 {                                    // plans are kept from the sixth execution on
		everything(t, s, fmt.Sprintf("young%d_", i))
	}
	exec(t, conn, "ALTER TABLE sidecar_test.receipts SET (autovacuum_enabled = off)")
	exec(t, conn, "ALTER TABLE sidecar_test.jobs SET (autovacuum_enabled = off)")
	for i := range 7 { // the ALTER has thrown plans away
		everything(t, s, fmt.Sprintf("youth%d_", i))
	}
	prefilled(t, conn, s, count)
	before := readStats(t, s, conn)
	everything(t, s, "old")
	if _, _, err := s.Forget(t.Context(), 500); err != nil {
		t.Fatal(err)
	}
	after := readStats(t, s, conn)
	if after.seqScans != before.seqScans {
		t.Errorf("%d tables were read", after.seqScans-before.seqScans)
	}
	if read := after.indexRead - before.indexRead; read > 3000 {
		t.Errorf("%d index entries were read for some hundred rows", read)
	}
	if fetched := after.fetched - before.fetched; fetched > 3000 {
		t.Errorf("%d rows were read for some hundred", fetched)
	}
}

// everything makes each kind of call with some rows.
func everything(t *testing.T, s *Store, prefix string) {
	t.Helper()
	rows := batch(prefix, 0, 64)
	insert(t, s, rows...)
	insert(t, s, rows...)
	if _, err := s.Read(t.Context(), []dedupe.Key{rows[0].Key, rows[1].Key}); err != nil {
		t.Fatal(err)
	}
	move(t, s, moves(rows[:60])...)
	failed := applied(rows[60])
	failed.To, failed.Response, failed.Evidence = dedupe.Retryable, nil, &dedupe.Evidence{From: dedupe.Claimed}
	move(t, s, failed)
	queued := rows[61]
	queued.EventID += "_q"
	queued.State, queued.Job = dedupe.Queued, &dedupe.Job{Method: "POST", Target: "/"}
	insert(t, s, queued)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Due(ctx, []delivery.Scope{testScope}, 10); return err },
		func(ctx context.Context) error { _, err := s.Expired(ctx, time.Hour, 10); return err },
		func(ctx context.Context) error { _, err := s.Evidence(ctx, failed.Key); return err },
		func(ctx context.Context) error { _, err := s.Job(ctx, queued.Key); return err },
		func(ctx context.Context) error { _, err := s.Attention(ctx); return err },
		func(ctx context.Context) error {
			_, err := s.List(ctx, dedupe.Filter{States: []dedupe.State{dedupe.Dead}, Limit: 10})
			return err
		},
	} {
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

type stats struct{ seqScans, indexRead, fetched int64 }

// readStats sums over the ledger's large tables. The store's only session is told to report what it did.
func readStats(t *testing.T, s *Store, conn *pgx.Conn) stats {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	return stats{
		seqScans: ask[int64](t, conn, `SELECT sum(seq_scan)::bigint FROM pg_stat_user_tables
			WHERE schemaname = 'sidecar_test' AND relname IN ('receipts', 'jobs', 'evidence')`),
		fetched: ask[int64](t, conn, `SELECT idx_tup_fetch FROM pg_stat_user_tables
			WHERE schemaname = 'sidecar_test' AND relname = 'receipts'`),
		indexRead: ask[int64](t, conn, `SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes
			WHERE schemaname = 'sidecar_test' AND relname = 'receipts'`),
	}
}

var parameter = regexp.MustCompile(`\$\d+`)

// The hot statements find a row by both columns of its key.
func TestLookUpsUseTheWholeKey(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	prefilled(t, conn, s, 20_000)
	exec(t, conn, "ANALYZE sidecar_test.receipts")
	for _, c := range []struct{ name, guard, sql string }{
		{"insert", insertGuard, s.sql.insert},
		{"insert with a job", insertGuard, s.sql.insertJob},
		{"move", lookupGuard, s.sql.move},
		{"move with evidence", lookupGuard, s.sql.moveAll},
		{"read", lookupGuard, s.sql.read},
	} {
		plan := explain(t, conn, c.guard, c.sql)
		if strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s reads a table:\n%s", c.name, plan)
		}
		if !regexp.MustCompile(`Index Cond: \(\(r?\.?scope_id = .*\) AND \(r?\.?event_id = `).MatchString(plan) {
			t.Errorf("%s does not look up by the whole key:\n%s", c.name, plan)
		}
	}
}

// explain shows the plan that is kept for a statement.
func explain(t *testing.T, conn *pgx.Conn, guard, sql string) string {
	t.Helper()
	var plan strings.Builder
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), guard, "1s"); err != nil {
			return err
		}
		count := 0
		for _, p := range parameter.FindAllString(sql, -1) {
			var n int
			_, _ = fmt.Sscanf(p, "$%d", &n)
			count = max(count, n)
		}
		if _, err := tx.Exec(t.Context(), "PREPARE explained AS "+sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL,", count), ",")
		rows, err := tx.Query(t.Context(), "EXPLAIN EXECUTE explained("+nulls+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		var line string
		if _, err := pgx.ForEachRow(rows, []any{&line}, func() error { plan.WriteString(line + "\n"); return nil }); err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), "DEALLOCATE explained", pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

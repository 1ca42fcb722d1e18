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

// What was planned on a small table and kept must serve a large one: every look-up by both columns of the key, nothing by
// reading a table, an index or a scope as a whole.
func TestPlansOfASmallTableServeALargeOne(t *testing.T) {
	for _, rows := range []int{0, 1, 3, 30, 1000} {
		t.Run(fmt.Sprint(rows, " rows"), func(t *testing.T) { testKeptPlans(t, rows) })
	}
}

func testKeptPlans(t *testing.T, rows int) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"receipts", "jobs", "evidence", "names"} {
		exec(t, conn, "ALTER TABLE sidecar_test."+table+" SET (autovacuum_enabled = off)")
	}
	for i := range rows {
		if i%64 == 0 {
			insert(t, s, batch("young_", i, min(64, rows-i))...)
		}
	}
	exec(t, conn, "VACUUM ANALYZE") // now it is known how small they are; what is planned from here on stays
	everything(t, s, "youth_", 1)
	prefilled(t, conn, s, 100_000)
	before := readStats(t, s, conn)
	everything(t, s, "old_", 64)
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

// everything makes each kind of call with so many rows.
func everything(t *testing.T, s *Store, prefix string, size int) {
	t.Helper()
	rows := batch(prefix, 0, size)
	insert(t, s, rows...)
	insert(t, s, rows...)
	if _, err := s.Read(t.Context(), []dedupe.Key{rows[0].Key}); err != nil {
		t.Fatal(err)
	}
	move(t, s, moves(rows)...)
	other := claimed(prefix + "failed")
	insert(t, s, other)
	failed := applied(other)
	failed.To, failed.Response, failed.Evidence = dedupe.Retryable, nil, &dedupe.Evidence{From: dedupe.Claimed}
	move(t, s, failed)
	queued := claimed(prefix + "queued")
	queued.State, queued.Job = dedupe.Queued, &dedupe.Job{Method: "POST", Target: "/"}
	insert(t, s, queued)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { _, _, err := s.Forget(ctx, 1); return err },
		func(ctx context.Context) error { _, err := s.Due(ctx, []delivery.Scope{testScope}, 10); return err },
		func(ctx context.Context) error { _, err := s.Expired(ctx, time.Hour, 10); return err },
		func(ctx context.Context) error { _, _, err := s.Evidence(ctx, failed.Key); return err },
		func(ctx context.Context) error { _, err := s.Job(ctx, queued.Key); return err },
		func(ctx context.Context) error { _, err := s.Attention(ctx); return err },
		func(ctx context.Context) error {
			_, err := s.List(ctx, dedupe.Filter{States: []dedupe.State{dedupe.Dead}, Limit: 10})
			return err
		},
		func(ctx context.Context) error { _, err := notary(t, s).Seal(ctx); return err },
		func(ctx context.Context) error { _, err := s.Ends(ctx, testScope); return err },
		func(ctx context.Context) error { _, err := s.Chain(ctx, testScope, 0, 1); return err },
		func(ctx context.Context) error { _, err := s.Marked(ctx, testScope, 1, 0, 10); return err },
		func(ctx context.Context) error { _, err := s.History(ctx, testScope, "", 10); return err },
		func(ctx context.Context) error { _, err := s.Scopes(ctx); return err },
	} {
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

type stats struct{ seqScans, indexRead, fetched int64 }

// reported makes the store's only session and another one report what they did.
func reported(t *testing.T, s *Store, conn *pgx.Conn) {
	t.Helper()
	const flush = "SELECT pg_stat_force_next_flush()"
	if _, err := s.pool.Exec(t.Context(), flush); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, flush)
}

// readStats sums over the ledger's large tables.
func readStats(t *testing.T, s *Store, conn *pgx.Conn) stats {
	t.Helper()
	reported(t, s, conn)
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

// The statements that change rows, and the hot ones, find a row by both columns of its key, whatever is known of the table.
func TestLookUpsUseTheWholeKey(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	for _, rows := range []int{1, 2, 10, 100} {
		insert(t, s, batch("evt_", 0, rows)...)
		exec(t, conn, "VACUUM ANALYZE sidecar_test.receipts")
		checkPlans(t, s, conn, fmt.Sprint(rows, " rows"))
	}
	exec(t, conn, "DELETE FROM sidecar_test.receipts")
	exec(t, conn, "VACUUM ANALYZE sidecar_test.receipts")
	checkPlans(t, s, conn, "no rows")
	prefilled(t, conn, s, 20_000)
	exec(t, conn, "ANALYZE sidecar_test.receipts")
	checkPlans(t, s, conn, "20000 rows")
}

func checkPlans(t *testing.T, s *Store, conn *pgx.Conn, known string) {
	t.Helper()
	key := regexp.MustCompile(`Index Cond: \(\(scope_id = ((i|m)(_\d+)?\.scope_id|\$1)\) AND \(event_id = ((i|m)(_\d+)?\.event_id|\$2)\)\)`)
	whole := regexp.MustCompile(`Seq Scan on|Scan using \w+ on (receipts|jobs|evidence)[^\n]*\n(?: *Filter[^\n]*\n)? *(->|CTE)`)
	for _, c := range []struct{ name, guard, sql string }{
		{"existing", keyGuard, s.sql.existing},
		{"read", keyGuard, s.sql.read},
		{"apply", keyGuard, s.sql.apply},
		{"apply one", keyGuard, s.sql.applyOne},
		{"move", keyGuard, s.sql.move},
		{"move with evidence", keyGuard, s.sql.moveAll},
	} {
		plan := explain(t, conn, c.guard, c.sql)
		if !key.MatchString(plan) || whole.MatchString(plan) {
			t.Errorf("%s, %s, does not look up by the whole key:\n%s", known, c.name, plan)
		}
	}
}

// What the sweeper asks takes the first rows of an index, and deletes rows by their place.
func TestSweepsTakeTheFirstRowsOfAnIndex(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	checkSweeps(t, s, conn, "nothing known")
	for _, count := range []int{1, 1000, 50_000} {
		overdue(t, conn, 0, count)
		exec(t, conn, "ANALYZE")
		checkSweeps(t, s, conn, fmt.Sprint(count, " rows are over"))
		exec(t, conn, "DELETE FROM sidecar_test.receipts")
	}
	exec(t, conn, "VACUUM ANALYZE")
	checkSweeps(t, s, conn, "no rows")
}

func checkSweeps(t *testing.T, s *Store, conn *pgx.Conn, known string) {
	t.Helper()
	const byKey = ` on %s[^\n]*\n *Index Cond: \(\(scope_id = \w+\.scope_id\) AND \(event_id = \w+\.event_id\)\)`
	for _, c := range []struct {
		name, sql string
		wants     []string
	}{
		{"expired", s.sql.expired, []string{`Limit[^\n]*\n *-> *LockRows[^\n]*\n *-> *Index Scan using receipts_claimed[^\n]*\n *Index Cond: [^\n]*<=[^\n]*\$3`}},
		{"forget", s.sql.forget, []string{
			`Limit[^\n]*\n *-> *LockRows[^\n]*\n *-> *Index Scan using receipts_expiry[^\n]*\n *Index Cond: [^\n]*<=[^\n]*\$2`,
			`Tid Scan on receipts`, `Tid Scan on evidence`, `Tid Scan on jobs`,
			fmt.Sprintf(byKey, "evidence"), fmt.Sprintf(byKey, "jobs"),
		}},
		{"left", s.sql.left, []string{`Index (Only )?Scan using receipts_expiry[^\n]*\n *Index Cond: [^\n]*<=[^\n]*\$1`}},
		{"forget jobs", s.sql.forgetJob, []string{
			`Limit[^\n]*\n *-> *Nested Loop[^\n]*\n *-> *Index Scan using jobs_until[^\n]*\n *Index Cond: \(until <= now\(\)\)`,
			`Tid Scan on receipts`, `Tid Scan on jobs`, fmt.Sprintf(byKey, "receipts"), fmt.Sprintf(byKey, "jobs"),
		}},
	} {
		plan := explain(t, conn, sweepGuard, c.sql)
		for _, want := range c.wants {
			if !regexp.MustCompile(want).MatchString(plan) {
				t.Errorf("%s, %s, has no %s:\n%s", known, c.name, want, plan)
			}
		}
		if strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s, %s, reads a table:\n%s", known, c.name, plan)
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
		nulls := ""
		if count > 0 {
			nulls = "(" + strings.TrimSuffix(strings.Repeat("NULL,", count), ",") + ")"
		}
		rows, err := tx.Query(t.Context(), "EXPLAIN EXECUTE explained"+nulls, pgx.QueryExecModeSimpleProtocol)
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

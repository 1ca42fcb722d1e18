package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
)

// A page of a walk reads its rows in the order of the key, and a rewrite looks each row up by the whole key, whatever is
// known of the tables.
func TestAWalkReadsItsPageOnly(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, batch("evt_", 0, 10)...)
	page := regexp.MustCompile(`Index Scan using (receipts|jobs)_pkey on \w+ \w+[^\n]*\n *Index Cond: \(ROW\(scope_id, event_id\) > ROW\(\$1, \$2\)\)`)
	key := regexp.MustCompile(`Index Cond: \(\(scope_id = i\.scope_id\) AND \(event_id = i\.event_id\)\)`)
	for _, rows := range []int{0, 20_000} {
		if rows > 0 {
			prefilled(t, conn, s, rows)
		}
		exec(t, conn, "ANALYZE sidecar_test.receipts")
		for _, c := range []struct {
			name, guard, sql string
			want             *regexp.Regexp
		}{
			{"kept requests", lookupGuard, s.sql.keptRequests, page},
			{"kept results", lookupGuard, s.sql.keptResults, page},
			{"rewrite requests", keyGuard, s.sql.rewriteRequests, key},
			{"rewrite results", keyGuard, s.sql.rewriteResults, key},
			{"heads of requests", lookupGuard, s.sql.jobHeads, key},
		} {
			if plan := explain(t, conn, c.guard, c.sql); !c.want.MatchString(plan) || regexp.MustCompile(`Seq Scan`).MatchString(plan) {
				t.Errorf("%s, %d rows:\n%s", c.name, rows, plan)
			}
		}
	}
}

// A rotation leaves the row that somebody locks, and nothing else; a rotation that somebody's move waits for does not make
// it wait long.
func TestARotationLeavesALockedRow(t *testing.T) {
	dsn := freshDB(t)
	s := open(t, dsn, func(c *Config) { c.LockTimeout = 50 * time.Millisecond })
	rows := batch("evt_", 0, 20)
	insert(t, s, rows...)
	move(t, s, moves(rows)...)
	keys, err := seal.ParseKeys([]byte(someKey()))
	if err != nil {
		t.Fatal(err)
	}
	rotation := seal.Rotation{Vault: s, Namespace: "test", Keys: keys}
	err = pgx.BeginFunc(t.Context(), connect(t, dsn), func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT FROM sidecar_test.receipts WHERE event_id = $1 FOR UPDATE", []byte(rows[7].EventID)); err != nil {
			return err
		}
		report, err := rotation.Run(t.Context())
		if err == nil && (report.Results.Rewritten != 19 || report.Results.Held != 1) {
			err = fmt.Errorf("rotated %+v", report.Results)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := rotation.Run(t.Context())
	if err != nil || report.Results.Rewritten != 1 || report.Left() != 0 {
		t.Errorf("then rotated %+v, %v", report.Results, err)
	}
}

// A walk over many receipts is bounded page by page: it neither reads ahead nor takes longer towards its end.
func TestAWalkOverManyReceipts(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	const receipts = 50_000
	prefilled(t, conn, s, receipts)
	seen := 0
	for cursor := ""; ; {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		page, err := s.Kept(ctx, dedupe.KeptResults, cursor, 1000, 1<<20)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if page.Next == "" {
			break
		}
		seen, cursor = seen+len(page.Items), page.Next
	}
	if seen != receipts {
		t.Errorf("seen %d of %d", seen, receipts)
	}
	if _, err := s.Kept(t.Context(), dedupe.KeptResults, "zz", 1, 1); !errors.Is(err, errCursor) {
		t.Errorf("a strange cursor: %v", err)
	}
}

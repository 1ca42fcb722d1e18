package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// Of each kind of table, whatever pages it takes, every row is measured, and once.
func TestEveryTablesRowsAreMeasured(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, fill := range []string{
		`INSERT INTO checkpoints SELECT 'acme/' || n, n, 0, 0, x'', x'', zeroblob(n * 10) FROM n`,
		`INSERT INTO receipts (scope, event_id, fingerprint, credential_id, event_type, object, trace, state, reason, attempt,
				token, on_expiry, created, changed, lease_until, next_attempt, expires, status, omitted)
			SELECT 'acme/' || n, 'evt_' || n, zeroblob(n * 5), 'k1', x'', x'', x'', 4, '', 1, x'', 0, 0, 0, 0, 0, n, 200, 0 FROM n`,
	} {
		const numbers = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000) `
		if _, err := s.db.ExecContext(t.Context(), numbers+fill); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.Measure(t.Context(), time.Hour)
	if err != nil || len(m.Tables) < 5 {
		t.Fatalf("%v; tables: %+v", err, m.Tables)
	}
	for _, table := range m.Tables {
		var rows int64
		if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table.Name).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if table.Rows != rows {
			t.Errorf("%s: measured %d rows of %d", table.Name, table.Rows, rows)
		}
	}
}

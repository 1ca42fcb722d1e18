package e2e_test

import (
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// documentedColumns are the columns that a section of docs/data.md names, as table.column.
func documentedColumns(t *testing.T, section string) []string {
	t.Helper()
	_, text, found := strings.Cut(dataPage(t), "\n## "+section+"\n")
	if !found {
		t.Fatalf("docs/data.md has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var columns []string
	for _, part := range strings.Split(text, "\n### `")[1:] {
		table, rows, _ := strings.Cut(part, "`")
		for line := range strings.Lines(rows) {
			first, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			if !row || !strings.HasPrefix(line, "| `") {
				continue
			}
			for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(first, -1) {
				columns = append(columns, table+"."+name[1])
			}
		}
	}
	return columns
}

// sameColumns expects each column in the page, none missing, none stale, none twice.
func sameColumns(t *testing.T, section string, stored []string) {
	t.Helper()
	documented := map[string]int{}
	for _, column := range documentedColumns(t, section) {
		documented[column]++
	}
	for _, column := range stored {
		if documented[column] == 0 {
			t.Errorf("docs/data.md, %s, lacks %s", section, column)
		}
	}
	for _, column := range slices.Sorted(maps.Keys(documented)) {
		if !slices.Contains(stored, column) || documented[column] > 1 {
			t.Errorf("docs/data.md, %s, has %s %d times, and the database has it %t", section, column, documented[column], slices.Contains(stored, column))
		}
	}
	if len(stored) < 40 {
		t.Errorf("only %d columns are stored", len(stored))
	}
}

// migrated is a ledger whose schema is the newest.
func migrated(t *testing.T, database string) {
	t.Helper()
	s := newSidecar(t, integration(t), map[string]string{"DATABASE_URL": database})
	if exit, out := s.run(t, "migrate"); exit != 0 {
		t.Fatalf("exit %d: %s", exit, out)
	}
}

func TestEveryStoredFieldIsDocumented(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		database := testenv.Postgres(t)
		migrated(t, database)
		conn, err := pgx.Connect(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		found, err := conn.Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
			JOIN information_schema.tables USING (table_schema, table_name)
			WHERE table_schema = 'sidecar_default' AND table_type = 'BASE TABLE' ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		sameColumns(t, "PostgreSQL", columns)
	})
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ledger.db")
		migrated(t, "sqlite:"+path)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		found, err := db.QueryContext(t.Context(), `SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
			WHERE s.type = 'table' ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		var columns []string
		for found.Next() {
			var column string
			if err := found.Scan(&column); err != nil {
				t.Fatal(err)
			}
			columns = append(columns, column)
		}
		sameColumns(t, "SQLite", columns)
	})
}

// The way to erase one event by hand that docs/data.md tells.
func TestOneEventIsErasedAsDocumented(t *testing.T) {
	app, database := newApplication(t), testenv.Postgres(t)
	env := map[string]string{"DATABASE_URL": database, "SIDECAR_UPSTREAM": "http://" + app.address}
	s := newSidecar(t, integration(t), env).start(t)
	expect(t, s, "evt_1", "200 applied evt_1 run 1")
	expect(t, s, "evt_2", "200 applied evt_2 run 1")
	_, statement, _ := strings.Cut(dataPage(t), "```sql\n")
	statement, _, found := strings.Cut(statement, "```")
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if made, err := conn.Exec(t.Context(), statement); err != nil || !found || made.RowsAffected() != 1 {
		t.Fatalf("%s %v", made, err)
	}
	s.kill()
	s.start(t) // it sweeps when it starts
	await(t, "the sweep", func() error {
		if err := hasReceipt(t, database, "evt_1"); err == nil {
			return errors.New("the receipt is still there")
		}
		return nil
	})
	expect(t, s, "evt_1", "200 applied evt_1 run 2")
	expect(t, s, "evt_2", "200 replayed evt_2 run 1")
}

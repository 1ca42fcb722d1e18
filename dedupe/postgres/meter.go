package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

var _ dedupe.Meter = (*Store)(nil)

const (
	// wholeHeap is how large a table may be, in bytes, to be counted as a whole: about 300,000 receipts. Of a larger one
	// this much is looked at, in pages that are spread over all of it.
	wholeHeap = 64 << 20

	// tablesSQL reads the catalogue of the namespace's schema, as it is: one row an index. What is unused is told from the
	// rows' own sizes, for which each column's is asked; that of a long value is known without reading it.
	tablesSQL = `SELECT now(), c.relname::text, pg_relation_size(c.oid),
    pg_table_size(c.oid) - coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0),
    coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0), coalesce(pg_stat_get_dead_tuples(c.oid), 0),
    (SELECT string_agg(format('coalesce(pg_column_size(t.%I), 0)', a.attname), ' + ')
     FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    i.relname::text, pg_total_relation_size(i.oid), coalesce(pg_get_expr(x.indpred, x.indrelid), 'true')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_index x ON x.indrelid = c.oid LEFT JOIN pg_class i ON i.oid = x.indexrelid
WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname, i.relname`

	// A row has a header of 24 bytes, a place of 4 on its page, and ends at a multiple of 8.
	rowBytes = `coalesce(sum((24 + %s + 7) / 8 * 8 + 4), 0)::bigint`

	// The same pages each time, so that two questions have answers that fit.
	sample = `TABLESAMPLE SYSTEM ($1) REPEATABLE (1)`

	inflowSQL = `SELECT scope_id, count(*), count(*) FILTER (WHERE created >= now() - $2::bigint * interval '1 microsecond'),
    min(created)
FROM {schema}.receipts ` + sample + ` GROUP BY scope_id ORDER BY scope_id`
)

// catalogued is a table as the catalogue has it, and what to ask about its rows.
type catalogued struct {
	dedupe.TableSize
	main    int64    // bytes of its rows' pages
	row     string   // the size of a row's columns, in SQL
	entries []string // which rows are in each index, in SQL
}

// Measure implements dedupe.Meter.
func (s *Store) Measure(ctx context.Context, window time.Duration) (dedupe.Measured, error) {
	measured := dedupe.Measured{Window: window}
	tables, err := s.catalogue(ctx, &measured.At)
	if err != nil {
		return measured, err
	}
	for i := range tables {
		if err := s.weigh(ctx, &tables[i]); err != nil {
			return measured, err
		}
		measured.Tables = append(measured.Tables, tables[i].TableSize)
	}
	return measured, s.inflow(ctx, &measured)
}

// catalogue lists the tables of the schema with their indexes.
func (s *Store) catalogue(ctx context.Context, now *time.Time) ([]catalogued, error) {
	var tables []catalogued
	err := s.run(ctx, call{
		guard: scanGuard, sql: tablesSQL, args: []any{schemaOf(s.config.Namespace)},
		begin: func() { tables = nil },
		scan: func(rows pgx.Rows) error {
			var t catalogued
			var index, entries pgtype.Text
			var bytes pgtype.Int8
			err := rows.Scan(now, &t.Name, &t.main, &t.Heap, &t.Apart, &t.Dead, &t.row, &index, &bytes, &entries)
			if len(tables) == 0 || tables[len(tables)-1].Name != t.Name {
				tables = append(tables, t)
			}
			if last := &tables[len(tables)-1]; index.Valid {
				last.Indexes = append(last.Indexes, dedupe.IndexSize{Name: index.String, Bytes: bytes.Int64})
				last.entries = append(last.entries, entries.String)
			}
			return err
		},
	})
	return tables, err
}

// weigh counts the rows of a table and of its indexes, or of a sample of its pages.
func (s *Store) weigh(ctx context.Context, t *catalogued) error {
	t.Share = min(1, float64(s.sample)/max(1, float64(t.main)))
	asked := []string{"count(*)", fmt.Sprintf(rowBytes, t.row)}
	for _, rows := range t.entries {
		asked = append(asked, "count(*) FILTER (WHERE "+rows+")")
	}
	// What is put together comes from the catalogue, quoted there.
	sql := "SELECT " + strings.Join(asked, ", ") + " FROM " + //nolint:gosec // see above
		s.sql.schema + "." + pgx.Identifier{t.Name}.Sanitize() + " AS t " + sample
	var live int64
	answers := []any{&t.Rows, &live}
	for i := range t.Indexes {
		answers = append(answers, &t.Indexes[i].Entries)
	}
	err := s.run(ctx, call{
		guard: scanGuard, sql: sql, args: []any{100 * t.Share},
		scan: func(rows pgx.Rows) error { return rows.Scan(answers...) },
	})
	t.Rows, live = whole(t.Rows, t.Share), whole(live, t.Share)
	for i := range t.Indexes {
		t.Indexes[i].Entries = whole(t.Indexes[i].Entries, t.Share)
	}
	if taken := t.Heap + t.Apart; taken > 0 {
		t.Unused = min(max(1-float64(live)/float64(taken), 0), 1)
	}
	return err
}

// whole is what a sample of so large a share says of everything.
func whole(counted int64, share float64) int64 { return int64(float64(counted)/share + 0.5) }

// inflow counts receipts by scope, in the same share of the table as its rows.
func (s *Store) inflow(ctx context.Context, m *dedupe.Measured) error {
	share := m.Table("receipts").Share
	type counted struct {
		scope       int32
		all, recent int64
		first       time.Time
	}
	var list []counted
	err := s.run(ctx, call{
		guard: scanGuard, sql: s.sql.inflow, args: []any{100 * share, micros(m.Window)},
		begin: func() { list = nil },
		scan: func(rows pgx.Rows) error {
			var c counted
			err := rows.Scan(&c.scope, &c.all, &c.recent, &c.first)
			list = append(list, c)
			return err
		},
	})
	if err != nil {
		return err
	}
	wanted := make([]nameID, len(list))
	for i, c := range list {
		wanted[i] = nameID{scopeName, c.scope}
	}
	names, err := s.names.tellAll(ctx, wanted)
	if err != nil {
		return err
	}
	for i, c := range list {
		m.Covered = max(m.Covered, min(m.Window, m.At.Sub(c.first)))
		m.Inflow = append(m.Inflow, dedupe.Inflow{
			Scope: delivery.Scope(names[wanted[i]].a), Receipts: whole(c.all, share), Recent: whole(c.recent, share),
		})
	}
	return nil
}

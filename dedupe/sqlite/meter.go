package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

var _ dedupe.Meter = (*Store)(nil)

// sizesSQL reads every page of the file. A cell of a table is a row where the page is a leaf, one of an index is an entry
// on any page; a table without row IDs is kept like an index.
const sizesSQL = `SELECT s.name, s.tbl_name, s.type = 'index',
		sum(CASE WHEN d.pagetype = 'overflow' THEN 0 ELSE d.pgsize END),
		sum(CASE WHEN d.pagetype = 'overflow' THEN d.pgsize ELSE 0 END), sum(d.unused),
		sum(CASE WHEN s.type = 'index' OR d.pagetype = 'leaf' OR l.wr THEN d.ncell ELSE 0 END)
	FROM sqlite_schema s JOIN dbstat d ON d.name = s.name
		LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name GROUP BY s.name ORDER BY s.type = 'index', s.name`

// Measure implements dedupe.Meter. An embedded ledger is small enough to be looked at as a whole.
func (s *Store) Measure(ctx context.Context, window time.Duration) (dedupe.Measured, error) {
	measured := dedupe.Measured{At: s.now(), Window: window}
	if err := s.sizes(ctx, &measured); err != nil {
		return measured, err
	}
	return measured, s.inflow(ctx, &measured)
}

func (s *Store) sizes(ctx context.Context, m *dedupe.Measured) error {
	rows, err := s.db.QueryContext(ctx, sizesSQL)
	if err != nil {
		return err
	}
	for rows.Next() {
		var name, table string
		var index bool
		var bytes, overflow, unused, cells int64
		if err := rows.Scan(&name, &table, &index, &bytes, &overflow, &unused, &cells); err != nil {
			return errors.Join(err, rows.Close())
		}
		if !index {
			m.Tables = append(m.Tables, dedupe.TableSize{
				Name: name, Rows: cells, Share: 1, Heap: bytes, Apart: overflow,
				Unused: float64(unused) / float64(bytes+overflow),
			})
			continue
		}
		for i := range m.Tables {
			if t := &m.Tables[i]; t.Name == table {
				t.Indexes = append(t.Indexes, dedupe.IndexSize{Name: name, Bytes: bytes + overflow, Entries: cells})
			}
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (s *Store) inflow(ctx context.Context, m *dedupe.Measured) error {
	const query = `SELECT scope, count(*), sum(created >= ?), min(created) FROM receipts GROUP BY scope ORDER BY scope`
	rows, err := s.db.QueryContext(ctx, query, m.At.Add(-m.Window).UnixMicro())
	if err != nil {
		return err
	}
	for rows.Next() {
		var in dedupe.Inflow
		var first int64
		if err := rows.Scan(&in.Scope, &in.Receipts, &in.Recent, &first); err != nil {
			return errors.Join(err, rows.Close())
		}
		m.Inflow = append(m.Inflow, in)
		m.Covered = max(m.Covered, min(m.Window, m.At.Sub(instant(first))))
	}
	return errors.Join(rows.Err(), rows.Close())
}

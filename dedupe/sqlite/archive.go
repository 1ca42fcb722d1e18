package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// page bounds how long one read of a scan keeps deliveries waiting.
const page = 2000

// defaultLimit bounds a list whose filter says nothing.
const defaultLimit = 100

// Evidence implements dedupe.Archive.
func (s *Store) Evidence(ctx context.Context, key dedupe.Key) (list []dedupe.Evidence, head dedupe.Sum, err error) {
	const query = `SELECT id, chain FROM receipts WHERE scope = ? AND event_id = ?`
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		var id int64
		var chain []byte
		err := tx.QueryRowContext(ctx, query, key.Scope, key.EventID).Scan(&id, &chain)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			head = dedupe.SumOf(chain)
			list, err = told(ctx, tx, id)
		}
		return err
	})
	return list, head, err
}

// Find implements dedupe.Archive. References are not stored: it reads every key, a page at a time.
func (s *Store) Find(ctx context.Context, reference string) ([]dedupe.Row, error) {
	var found []dedupe.Key
	last, more := int64(0), true
	for more {
		next, err := s.scanPage(ctx, last, func(key dedupe.Key) {
			if delivery.Reference(key.Scope, key.EventID) == reference {
				found = append(found, key)
			}
		})
		if err != nil {
			return nil, err
		}
		more, last = next > last, next
	}
	return s.Read(ctx, found)
}

// scanPage visits the keys behind a row number and returns the last one visited.
func (s *Store) scanPage(ctx context.Context, last int64, visit func(dedupe.Key)) (int64, error) {
	const query = `SELECT id, scope, event_id FROM receipts WHERE id > ? ORDER BY id LIMIT ?`
	rows, err := s.db.QueryContext(ctx, query, last, page)
	if err != nil {
		return last, err
	}
	defer rows.Close()
	for rows.Next() {
		var key dedupe.Key
		if err := rows.Scan(&last, &key.Scope, &key.EventID); err != nil {
			return last, err
		}
		visit(key)
	}
	return last, rows.Err()
}

// List implements dedupe.Archive.
func (s *Store) List(ctx context.Context, f dedupe.Filter) ([]dedupe.Row, error) {
	query, arguments := `SELECT `+columns+` FROM receipts WHERE 1`, []any(nil)
	if f.Scope != "" {
		query, arguments = query+` AND scope = ?`, append(arguments, f.Scope)
	}
	if len(f.States) > 0 {
		query += ` AND state IN (?` + strings.Repeat(", ?", len(f.States)-1) + `)`
		for _, state := range f.States {
			arguments = append(arguments, state)
		}
	}
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	query += ` ORDER BY changed, id LIMIT ? OFFSET ?`
	rows, err := s.db.QueryContext(ctx, query, append(arguments, f.Limit, f.Offset)...)
	if err != nil {
		return nil, err
	}
	return scanRows(rows)
}

// Attention implements dedupe.Archive.
func (s *Store) Attention(ctx context.Context) ([]dedupe.Attention, error) {
	const query = `SELECT scope, state, count(*), min(changed) FROM receipts WHERE state = 1 GROUP BY scope
		UNION ALL
		SELECT scope, state, count(*), min(CASE state WHEN 5 THEN changed ELSE created END)
			FROM receipts WHERE state IN (2, 3, 5) GROUP BY scope, state
		ORDER BY scope, state`
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	now := s.now()
	var all []dedupe.Attention
	for rows.Next() {
		var a dedupe.Attention
		var oldest int64
		if err := rows.Scan(&a.Scope, &a.State, &a.Count, &oldest); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		a.Oldest = max(time.Duration(0), now.Sub(instant(oldest)))
		all = append(all, a)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

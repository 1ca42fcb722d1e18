package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

var _ dedupe.Histories = (*Store)(nil)

// Scopes implements dedupe.Histories.
func (s *Store) Scopes(ctx context.Context) ([]delivery.Scope, error) {
	return s.scopes(ctx, `SELECT scope FROM receipts UNION SELECT scope FROM checkpoints UNION SELECT scope FROM pauses
		UNION SELECT scope FROM credential_events ORDER BY 1`)
}

// Strays implements dedupe.Histories.
func (s *Store) Strays(ctx context.Context) (count int64, err error) {
	const query = `SELECT count(*) FROM evidence WHERE receipt NOT IN (SELECT id FROM receipts)`
	err = s.db.QueryRowContext(ctx, query).Scan(&count)
	return count, err
}

// Ends implements dedupe.Trail.
func (s *Store) Ends(ctx context.Context, scope delivery.Scope) (dedupe.Ends, error) {
	const newest = `SELECT number, at, oldest, previous, sum, x'' FROM checkpoints WHERE scope = ? ORDER BY number DESC LIMIT 1`
	const marks = `SELECT coalesce(min(checkpoint), 0), coalesce(max(checkpoint), 0)
		FROM evidence JOIN receipts ON receipts.id = evidence.receipt WHERE checkpoint > 0 AND scope = ?`
	var ends dedupe.Ends
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		chain, err := chainOf(ctx, tx, scope, newest, scope)
		if err == nil && len(chain) > 0 {
			ends.Newest = chain[0]
		}
		return errors.Join(err, tx.QueryRowContext(ctx, marks, scope).Scan(&ends.First, &ends.Last))
	})
	ends.Newest.Scope = scope
	return ends, err
}

// Chain implements dedupe.Trail.
func (s *Store) Chain(ctx context.Context, scope delivery.Scope, from int64, limit int) ([]dedupe.Checkpoint, error) {
	const query = `SELECT number, at, oldest, previous, sum, leaves FROM checkpoints
		WHERE scope = ? AND number >= ? ORDER BY number LIMIT ?`
	return chainOf(ctx, s.db, scope, query, scope, from, limit)
}

func chainOf(ctx context.Context, from querier, scope delivery.Scope, query string, args ...any) ([]dedupe.Checkpoint, error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var chain []dedupe.Checkpoint
	for rows.Next() {
		c := dedupe.Checkpoint{Scope: scope}
		var at int64
		var previous, sum []byte
		if err := rows.Scan(&c.Number, &at, &c.Oldest, &previous, &sum, &c.Leaves); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		c.At, c.Previous, c.Sum = instant(at), dedupe.SealOf(previous), dedupe.SealOf(sum)
		chain = append(chain, c)
	}
	return chain, errors.Join(rows.Err(), rows.Close())
}

// Marked implements dedupe.Trail. A row whose receipt is gone is not seen, and so is missing.
func (s *Store) Marked(ctx context.Context, scope delivery.Scope, number, after int64, limit int) (dedupe.Sealables, error) {
	const begin = `SELECT evidence.id, event_id, until, sum FROM evidence JOIN receipts ON receipts.id = evidence.receipt
		WHERE scope = ? AND evidence.id > ? AND `
	const end = ` ORDER BY evidence.id LIMIT ?`
	query, args := begin+`checkpoint = 0 AND sum <> x''`+end, []any{scope, after, limit}
	if number > 0 {
		query, args = begin+`checkpoint = ? AND checkpoint > 0`+end, []any{scope, after, number, limit}
	}
	var marked dedupe.Sealables
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return dedupe.Sealables{}, err
	}
	for rows.Next() {
		var row dedupe.Sealable
		var until int64
		var sum []byte
		if err := rows.Scan(&row.ID, &row.EventID, &until, &sum); err != nil {
			return dedupe.Sealables{}, errors.Join(err, rows.Close())
		}
		row.Until, row.Sum = ended(until), dedupe.SumOf(sum)
		marked.Rows = append(marked.Rows, row)
	}
	marked.Now = s.now().UTC().Truncate(time.Microsecond) // behind the look: what is not there was forgotten before
	return marked, errors.Join(rows.Err(), rows.Close())
}

// withoutResponse is columns, but for the recorded response.
const withoutResponse = `scope, event_id, fingerprint, binding, credential_id, event_type, object, trace, state, reason, attempt,
	token, on_expiry, created, changed, lease_until, next_attempt, expires, status, NULL, NULL, omitted <> 0,
	EXISTS (SELECT 1 FROM jobs WHERE jobs.receipt = receipts.id)`

// History implements dedupe.Histories.
func (s *Store) History(ctx context.Context, scope delivery.Scope, after delivery.EventID, limit int) ([]dedupe.History, error) {
	const query = `SELECT id, chain, ` + withoutResponse + ` FROM receipts
		WHERE scope = ? AND event_id > ? ORDER BY event_id LIMIT ?`
	var page []dedupe.History
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, scope, after, limit)
		if err != nil {
			return err
		}
		var ids []int64
		if page, ids, err = scanHistory(rows); err != nil {
			return err
		}
		for i, id := range ids {
			if page[i].Evidence, err = told(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	return page, err
}

// behind scans the columns before a row's own ones, too, and states that are none.
type behind struct {
	scanner
	first []any
}

func (b behind) Scan(into ...any) error {
	for i, field := range into {
		if state, is := field.(*dedupe.State); is {
			into[i] = anyState{state}
		}
	}
	return b.scanner.Scan(append(b.first, into...)...)
}

// anyState reads a state that an audit looks at: what somebody wrote there is no reason to stop.
type anyState struct{ state *dedupe.State }

// Scan implements sql.Scanner.
func (a anyState) Scan(value any) error {
	number, _ := value.(int64)
	*a.state = dedupe.StateOf(number)
	return nil
}

func scanHistory(rows *sql.Rows) (page []dedupe.History, ids []int64, err error) {
	for rows.Next() {
		var id int64
		var head []byte
		row, err := scanRow(behind{rows, []any{&id, &head}})
		if err != nil {
			return nil, nil, errors.Join(err, rows.Close())
		}
		page, ids = append(page, dedupe.History{Row: row, Head: dedupe.SumOf(head)}), append(ids, id)
	}
	return page, ids, errors.Join(rows.Err(), rows.Close())
}

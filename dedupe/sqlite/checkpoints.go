package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

var _ dedupe.Checkpoints = (*Store)(nil)

// Unsealed implements dedupe.Checkpoints.
func (s *Store) Unsealed(ctx context.Context) ([]delivery.Scope, error) {
	return s.scopes(ctx, `SELECT DISTINCT scope FROM evidence JOIN receipts ON receipts.id = evidence.receipt
		WHERE checkpoint = 0 AND sum <> x'' ORDER BY scope`)
}

// scopes asks for scopes.
func (s *Store) scopes(ctx context.Context, query string) ([]delivery.Scope, error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	var scopes []delivery.Scope
	for rows.Next() {
		var scope delivery.Scope
		if err := rows.Scan(&scope); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		scopes = append(scopes, scope)
	}
	return scopes, errors.Join(rows.Err(), rows.Close())
}

// Seal implements dedupe.Checkpoints.
func (s *Store) Seal(ctx context.Context, c dedupe.Checkpoint, rows []int64) (made bool, err error) {
	const add = `INSERT INTO checkpoints (scope, number, at, oldest, previous, sum, leaves) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
		WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE scope = ?1 AND number >= ?2)`
	const mark = `UPDATE evidence SET checkpoint = ? WHERE id = ? AND checkpoint = 0 AND sum <> x''`
	err = s.transact(ctx, 1, func(tx *sql.Tx, _ time.Time) error {
		result, err := tx.ExecContext(ctx, add, c.Scope, c.Number, c.At.UnixMicro(), c.Oldest, c.Previous[:], c.Sum[:],
			blob(c.Leaves))
		if err != nil {
			return err
		}
		added, err := result.RowsAffected()
		made = added > 0
		for _, id := range rows {
			if err != nil || !made {
				break
			}
			_, err = tx.ExecContext(ctx, mark, c.Number, id)
		}
		return err
	})
	return made && err == nil, err
}

// Retire implements dedupe.Checkpoints.
func (s *Store) Retire(ctx context.Context, scope delivery.Scope, below int64, limit int) error {
	const retire = `DELETE FROM checkpoints WHERE scope = ?1 AND number IN
		(SELECT number FROM checkpoints WHERE scope = ?1 AND number < ?2 ORDER BY number LIMIT ?3)`
	_, err := s.db.ExecContext(ctx, retire, scope, below, limit)
	return err
}

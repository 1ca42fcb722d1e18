package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	// One look-up a scope, however many rows it has.
	unsealedSQL = `SELECT n.a FROM {schema}.names n
WHERE n.kind = 1 AND EXISTS (
    SELECT FROM {schema}.evidence e WHERE e.scope_id = n.id AND e.checkpoint = 0 AND e.sum <> ''::bytea)
ORDER BY n.a`

	// leftOver: a row whose receipt was forgotten in time while the row itself was being sealed, and was passed over for that.
	leftOver = `(SELECT l.until FROM {schema}.evidence l
        WHERE l.scope_id = e.scope_id AND l.event_id = e.event_id ORDER BY l.id DESC LIMIT 1) <= now()`

	// The number decides who seals. Whoever comes second waits for the end of a statement, and does nothing; nor does whoever
	// comes so late that the number was given and retired. What the last checkpoint left over goes now, and what was overlooked
	// then goes when no older row is left.
	sealSQL = `WITH made AS (
    INSERT INTO {schema}.checkpoints (scope_id, number, at, oldest, previous, sum, leaves)
    SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (
        SELECT n.number FROM {schema}.checkpoints n WHERE n.scope_id = $1 AND n.number >= $2 LIMIT 1) IS NULL
    ON CONFLICT DO NOTHING
    RETURNING scope_id, number
), marked AS (
    UPDATE {schema}.evidence e SET checkpoint = made.number
    FROM made, unnest($8::bigint[]) AS i(id)
    WHERE e.scope_id = made.scope_id AND e.id = i.id AND e.checkpoint = 0 AND e.sum <> ''::bytea
), left_over AS (
    DELETE FROM {schema}.evidence e USING made
    WHERE e.scope_id = made.scope_id AND e.checkpoint > 0 AND e.checkpoint = ANY (ARRAY[$2::bigint - 1, (
        SELECT f.checkpoint FROM {schema}.evidence f
        WHERE f.scope_id = $1 AND f.checkpoint > 0 ORDER BY f.checkpoint LIMIT 1)])
      AND (SELECT r.state FROM {schema}.receipts r WHERE r.scope_id = e.scope_id AND r.event_id = e.event_id LIMIT 1) IS NULL
      AND ` + leftOver + `
)
SELECT number FROM made`

	retireSQL = `DELETE FROM {schema}.checkpoints c USING (
    SELECT o.scope_id, o.number FROM {schema}.checkpoints o
    WHERE o.scope_id = $1 AND o.number < $2 ORDER BY o.number LIMIT $3
) old WHERE c.scope_id = old.scope_id AND c.number = old.number`
)

var errScope = errors.New("postgres: the ledger knows no such scope")

var _ dedupe.Checkpoints = (*Store)(nil)

// Unsealed implements dedupe.Checkpoints.
func (s *Store) Unsealed(ctx context.Context) ([]delivery.Scope, error) {
	return s.scopes(ctx, s.sql.unsealed)
}

func (s *Store) scopes(ctx context.Context, sql string) ([]delivery.Scope, error) {
	var scopes []delivery.Scope
	err := s.run(ctx, call{
		guard: lookupGuard, sql: sql,
		begin: func() { scopes = nil },
		scan: func(rows pgx.Rows) error {
			var scope []byte
			err := rows.Scan(&scope)
			scopes = append(scopes, delivery.Scope(scope))
			return err
		},
	})
	return scopes, err
}

// scopeID is 0 for a scope that the ledger does not know, which has no rows.
func (s *Store) scopeID(ctx context.Context, scope delivery.Scope) (int32, error) {
	ids, err := s.names.find(ctx, scopeOf(scope))
	return ids[scopeOf(scope)], err
}

// Seal implements dedupe.Checkpoints.
func (s *Store) Seal(ctx context.Context, c dedupe.Checkpoint, rows []int64) (made bool, err error) {
	scope, err := s.scopeID(ctx, c.Scope)
	if err != nil {
		return false, err
	}
	if scope == 0 {
		return false, errScope
	}
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.seal,
		args:  []any{scope, c.Number, c.At, c.Oldest, c.Previous[:], c.Sum[:], c.Leaves, rows},
		begin: func() { made = false },
		scan: func(pgx.Rows) error {
			made = true
			return nil
		},
	})
	return made, err
}

// Retire implements dedupe.Checkpoints.
func (s *Store) Retire(ctx context.Context, scope delivery.Scope, below int64, limit int) error {
	id, err := s.scopeID(ctx, scope)
	if err != nil {
		return err
	}
	return s.run(ctx, call{guard: lookupGuard, sql: s.sql.retire, args: []any{id, below, int64(limit)}})
}

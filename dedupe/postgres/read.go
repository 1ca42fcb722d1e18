package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const readSQL = `SELECT ` + rowColumns + `
FROM unnest($1::integer[], $2::bytea[]) AS i(scope_id, event_id)
CROSS JOIN LATERAL (
    SELECT * FROM {schema}.receipts r WHERE r.scope_id = i.scope_id AND r.event_id = i.event_id LIMIT 1
) r`

// Read implements dedupe.Store.
func (s *Store) Read(ctx context.Context, keys []dedupe.Key) ([]dedupe.Row, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	scopes, events, err := s.keys(ctx, keys)
	if err != nil {
		return nil, err
	}
	return s.query(ctx, keyGuard, s.sql.read, scopes, events)
}

// keys are the columns of the keys. Reading adds no names: a scope that the ledger does not know has the ID 0, and no rows.
func (s *Store) keys(ctx context.Context, keys []dedupe.Key) (scopes []int32, events [][]byte, err error) {
	wanted := make([]name, len(keys))
	for i, key := range keys {
		wanted[i] = scopeOf(key.Scope)
	}
	ids, err := s.names.find(ctx, wanted...)
	for i, key := range keys {
		scopes, events = append(scopes, ids[wanted[i]]), append(events, bytesOf(string(key.EventID)))
	}
	return scopes, events, err
}

// query reads receipts.
func (s *Store) query(ctx context.Context, guard, sql string, args ...any) ([]dedupe.Row, error) {
	var list []stored
	err := s.run(ctx, call{
		guard: guard, sql: sql, args: args,
		begin: func() { list = nil },
		scan: func(rows pgx.Rows) error {
			var row stored
			err := row.scan(rows)
			list = append(list, row)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return s.rows(ctx, list)
}

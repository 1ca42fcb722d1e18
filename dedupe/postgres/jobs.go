package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	jobSQL = `SELECT j.request FROM {schema}.jobs j WHERE j.scope_id = $1 AND j.event_id = $2`

	// One look-up in order for each scope: a scope that is not asked for may have any number of due rows.
	dueSQL = `SELECT ` + rowColumns + `
FROM unnest($1::integer[]) AS i(scope_id)
CROSS JOIN LATERAL (
    SELECT * FROM {schema}.receipts q
    WHERE q.state = 3 AND q.scope_id = i.scope_id AND q.due <= now()
    ORDER BY q.due LIMIT $2
) r
ORDER BY r.due LIMIT $2`
)

// Job implements dedupe.Jobs.
func (s *Store) Job(ctx context.Context, key dedupe.Key) (*dedupe.Job, error) {
	scopes, events, err := s.keys(ctx, []dedupe.Key{key})
	if err != nil {
		return nil, err
	}
	var packed []byte
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.job, args: []any{scopes[0], events[0]},
		begin: func() { packed = nil },
		scan:  func(rows pgx.Rows) error { return rows.Scan(&packed) },
	})
	if err != nil {
		return nil, err
	}
	if packed == nil {
		return nil, dedupe.ErrNotFound
	}
	return unpackJob(packed)
}

// Due implements dedupe.Jobs.
func (s *Store) Due(ctx context.Context, scopes []delivery.Scope, limit int) ([]dedupe.Row, error) {
	if len(scopes) == 0 {
		return nil, nil
	}
	wanted := make([]name, len(scopes))
	for i, scope := range scopes {
		wanted[i] = scopeOf(scope)
	}
	ids, err := s.names.find(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	list := make([]int32, len(scopes))
	for i := range scopes {
		list[i] = ids[wanted[i]]
	}
	return s.query(ctx, lookupGuard, s.sql.due, list, int64(limit))
}

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	setPausedSQL = `INSERT INTO {schema}.pauses (at, paused, scope, actor, note)
SELECT now(), $1, $2, $3, $4
WHERE $1 <> coalesce((SELECT p.paused FROM {schema}.pauses p WHERE p.scope = $2 ORDER BY p.id DESC LIMIT 1), false)
RETURNING id`

	pauseActsSQL = `SELECT p.at, p.scope, p.paused, p.actor, p.note FROM {schema}.pauses p ORDER BY p.id`
)

// SetPaused implements dedupe.Pauses.
func (s *Store) SetPaused(ctx context.Context, scope delivery.Scope, paused bool, by dedupe.Act) (bool, error) {
	changed := false
	err := s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.setPaused, rows: 1,
		args:  []any{paused, bytesOf(string(scope)), bytesOf(by.Actor), bytesOf(by.Reason)},
		begin: func() { changed = false },
		scan: func(pgx.Rows) error {
			changed = true
			return nil
		},
	})
	return changed, err
}

// PauseActs implements dedupe.Pauses.
func (s *Store) PauseActs(ctx context.Context) ([]dedupe.PauseAct, error) {
	var acts []dedupe.PauseAct
	err := s.run(ctx, call{
		guard: scanGuard, sql: s.sql.pauseActs,
		begin: func() { acts = nil },
		scan: func(rows pgx.Rows) error {
			var act dedupe.PauseAct
			var scope, actor, note []byte
			err := rows.Scan(&act.At, &scope, &act.Paused, &actor, &note)
			act.Scope, act.Actor, act.Reason = delivery.Scope(scope), string(actor), string(note)
			acts = append(acts, act)
			return err
		},
	})
	return acts, err
}

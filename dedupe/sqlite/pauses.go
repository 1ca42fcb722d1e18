package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// SetPaused implements dedupe.Pauses.
func (s *Store) SetPaused(ctx context.Context, scope delivery.Scope, paused bool, by dedupe.Act) (changed bool, err error) {
	const add = `INSERT INTO pauses (at, scope, paused, actor, note) SELECT ?, ?, ?, ?, ?
		WHERE ? <> coalesce((SELECT paused FROM pauses WHERE scope = ? ORDER BY id DESC LIMIT 1), 0)`
	err = s.transact(ctx, 1, func(tx *sql.Tx, now time.Time) error {
		result, err := tx.ExecContext(ctx, add, now.UnixMicro(), scope, paused, blob(by.Actor), blob(by.Reason), paused, scope)
		if err != nil {
			return err
		}
		count, err := result.RowsAffected()
		changed = count > 0
		return err
	})
	return changed && err == nil, err
}

// PauseActs implements dedupe.Pauses.
func (s *Store) PauseActs(ctx context.Context) ([]dedupe.PauseAct, error) {
	const query = `SELECT at, scope, paused <> 0, actor, note FROM pauses ORDER BY id`
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	var acts []dedupe.PauseAct
	for rows.Next() {
		var act dedupe.PauseAct
		var at int64
		var actor, note []byte
		if err := rows.Scan(&at, &act.Scope, &act.Paused, &actor, &note); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		act.At, act.Actor, act.Reason = instant(at), string(actor), string(note)
		acts = append(acts, act)
	}
	return acts, errors.Join(rows.Err(), rows.Close())
}

// held are the scopes whose last word is to hold.
func (s *Store) held(ctx context.Context) ([]delivery.Scope, error) {
	const query = `SELECT scope FROM (SELECT scope, paused, max(id) FROM pauses GROUP BY scope) WHERE paused <> 0`
	return s.scopes(ctx, query)
}

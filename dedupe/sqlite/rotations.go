package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// RecordRotation implements dedupe.Vault.
func (s *Store) RecordRotation(ctx context.Context, sealing string, by dedupe.Act) error {
	const add = `INSERT INTO rotations (at, sealing, actor, note) VALUES (?, ?, ?, ?)`
	return s.transact(ctx, 1, func(tx *sql.Tx, now time.Time) error {
		_, err := tx.ExecContext(ctx, add, now.UnixMicro(), sealing, blob(by.Actor), blob(by.Reason))
		return err
	})
}

// Rotations implements dedupe.Vault.
func (s *Store) Rotations(ctx context.Context) ([]dedupe.RotationAct, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT at, sealing, actor, note FROM rotations ORDER BY id`)
	if err != nil {
		return nil, err
	}
	var acts []dedupe.RotationAct
	for rows.Next() {
		var act dedupe.RotationAct
		var at int64
		var actor, note []byte
		if err := rows.Scan(&at, &act.Sealing, &actor, &note); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		act.At, act.Actor, act.Reason = instant(at), string(actor), string(note)
		acts = append(acts, act)
	}
	return acts, errors.Join(rows.Err(), rows.Close())
}

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const (
	recordRotationSQL = `INSERT INTO {schema}.rotations (at, sealing, actor, note) VALUES (now(), $1, $2, $3)`

	rotationsSQL = `SELECT r.at, r.sealing, r.actor, r.note FROM {schema}.rotations r ORDER BY r.id`
)

// RecordRotation implements dedupe.Vault.
func (s *Store) RecordRotation(ctx context.Context, sealing string, by dedupe.Act) error {
	return s.run(ctx, call{
		guard: scanGuard, sql: s.sql.recordRotation, rows: 1,
		args: []any{bytesOf(sealing), bytesOf(by.Actor), bytesOf(by.Reason)},
	})
}

// Rotations implements dedupe.Vault.
func (s *Store) Rotations(ctx context.Context) ([]dedupe.RotationAct, error) {
	var acts []dedupe.RotationAct
	err := s.run(ctx, call{
		guard: scanGuard, sql: s.sql.rotations,
		begin: func() { acts = nil },
		scan: func(rows pgx.Rows) error {
			var act dedupe.RotationAct
			var sealing, actor, note []byte
			err := rows.Scan(&act.At, &sealing, &actor, &note)
			act.Sealing, act.Actor, act.Reason = string(sealing), string(actor), string(note)
			acts = append(acts, act)
			return err
		},
	})
	return acts, err
}

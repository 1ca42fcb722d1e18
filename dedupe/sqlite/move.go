package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Move implements dedupe.Store.
func (s *Store) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	made := make([]bool, len(moves))
	if len(moves) == 0 {
		return made, nil
	}
	err := s.transact(ctx, len(moves), func(tx *sql.Tx, now time.Time) error {
		for i := range moves {
			t := transition{s: s, tx: tx, now: now, move: &moves[i]}
			var err error
			if made[i], err = t.make(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// transition is one move of a batch.
type transition struct {
	s    *Store
	tx   *sql.Tx
	now  time.Time
	move *dedupe.Move
}

func (t *transition) make(ctx context.Context) (bool, error) {
	id, err := t.update(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		err = t.job(ctx, id)
	}
	if err == nil && t.move.Evidence != nil {
		err = t.evidence(ctx, id, t.move.Evidence)
	}
	return true, err
}

func (t *transition) update(ctx context.Context) (int64, error) {
	m := t.move
	var header, body []byte
	omitted := false
	if m.Response != nil {
		header, body, omitted = encodeHeader(m.Response.Header), m.Response.Body, m.Response.Omitted
	}
	next := int64(0)
	if m.To == dedupe.Queued {
		next = t.now.Add(m.After).UnixMicro()
	}
	var id int64
	err := t.tx.StmtContext(ctx, t.s.statements.updateReceipt).QueryRowContext(ctx,
		m.To, m.Token[:], m.Attempt, m.Reason, m.Status, header, body, omitted,
		until(t.now, m.Lease), m.OnExpiry, next, until(t.now, m.Expires), t.now.UnixMicro(),
		m.Scope, m.EventID, m.FromState, m.FromToken[:],
	).Scan(&id)
	return id, err
}

// job keeps, times or drops the request.
func (t *transition) job(ctx context.Context, id int64) error {
	expires := until(t.now, t.move.JobFor)
	var err error
	switch {
	case t.move.DropJob:
		_, err = t.tx.StmtContext(ctx, t.s.statements.deleteJob).ExecContext(ctx, id)
	case t.move.Job != nil:
		err = putJob(ctx, t.tx.StmtContext(ctx, t.s.statements.upsertJob), id, t.move.Job, expires)
	case t.move.To == dedupe.Dead:
		_, err = t.tx.StmtContext(ctx, t.s.statements.updateJob).ExecContext(ctx, expires, id)
	}
	return err
}

// evidence adds a row and continues the event's chain with it.
func (t *transition) evidence(ctx context.Context, id int64, e *dedupe.Evidence) error {
	var chain []byte
	if err := t.tx.StmtContext(ctx, t.s.statements.selectChain).QueryRowContext(ctx, id).Scan(&chain); err != nil {
		return err
	}
	row := *e
	row.At, row.Until = t.now, instant(t.until())
	sum := row.Link(t.move.Key, dedupe.SumOf(chain))
	_, err := t.tx.StmtContext(ctx, t.s.statements.insertEvidence).ExecContext(ctx,
		id, row.At.UnixMicro(), t.until(), e.From, e.To, e.Attempt, e.Reason, e.Status, blob(e.Actor), blob(e.Note),
		blob(e.CredentialID), sum[:])
	if err != nil {
		return err
	}
	_, err = t.tx.StmtContext(ctx, t.s.statements.updateChain).ExecContext(ctx, sum[:], id)
	return err
}

// until is when the receipt may be forgotten: never while it is claimed or queued.
func (t *transition) until() int64 {
	if t.move.To == dedupe.Claimed || t.move.To == dedupe.Queued {
		return 0
	}
	return until(t.now, t.move.Expires)
}

// Read implements dedupe.Store.
func (s *Store) Read(ctx context.Context, keys []dedupe.Key) ([]dedupe.Row, error) {
	var rows []dedupe.Row
	for _, key := range keys {
		row, err := scanRow(s.statements.selectReceipt.QueryRowContext(ctx, key.Scope, key.EventID))
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

package sqlite

import (
	"context"
	"database/sql"
	"fmt"
)

const (
	insertReceipt = `INSERT INTO receipts (scope, event_id, fingerprint, binding, credential_id, event_type, object, trace,
		state, reason, attempt, token, on_expiry, created, changed, lease_until, next_attempt, expires, status, omitted)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)
		ON CONFLICT DO NOTHING RETURNING id`

	selectReceipt = `SELECT ` + columns + ` FROM receipts WHERE scope = ? AND event_id = ?`

	selectBound = `SELECT ` + columns + ` FROM receipts WHERE scope = ? AND binding = ?`

	updateReceipt = `UPDATE receipts SET state = ?, token = ?, attempt = ?, reason = ?, status = ?, response_header = ?,
		response_body = ?, omitted = ?, lease_until = ?, on_expiry = ?, next_attempt = ?, expires = ?, changed = ?
		WHERE scope = ? AND event_id = ? AND state = ? AND token = ? RETURNING id`

	insertEvidence = `INSERT INTO evidence (receipt, at, until, from_state, to_state, attempt, reason, status, actor, note,
		credential, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// The sum of the last row, which the next one continues.
	selectChain = `SELECT chain FROM receipts WHERE id = ?`

	updateChain = `UPDATE receipts SET chain = ? WHERE id = ?`

	upsertJob = `INSERT OR REPLACE INTO jobs (receipt, method, target, host, header, body, expires)
		VALUES (?, ?, ?, ?, ?, ?, ?)`

	updateJob = `UPDATE jobs SET expires = ? WHERE receipt = ?`

	deleteJob = `DELETE FROM jobs WHERE receipt = ?`
)

// statements are what every delivery needs, prepared once.
type statements struct {
	insertReceipt, selectBound, selectReceipt, updateReceipt *sql.Stmt
	insertEvidence, upsertJob, updateJob, deleteJob          *sql.Stmt
	selectChain, updateChain                                 *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, db *sql.DB) error {
	for _, each := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&s.insertReceipt, insertReceipt}, {&s.selectBound, selectBound}, {&s.selectReceipt, selectReceipt},
		{&s.updateReceipt, updateReceipt}, {&s.insertEvidence, insertEvidence}, {&s.upsertJob, upsertJob},
		{&s.updateJob, updateJob}, {&s.deleteJob, deleteJob},
		{&s.selectChain, selectChain}, {&s.updateChain, updateChain},
	} {
		prepared, err := db.PrepareContext(ctx, each.text)
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		*each.statement = prepared
	}
	return nil
}

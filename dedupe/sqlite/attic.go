package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Expired implements dedupe.Attic. There is no other replica to ask.
func (s *Store) Expired(ctx context.Context, grace time.Duration, limit int) ([]dedupe.Row, error) {
	const query = `SELECT ` + columns + ` FROM receipts WHERE state = 1 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	rows, err := s.db.QueryContext(ctx, query, s.now().Add(-grace).UnixMicro(), limit)
	if err != nil {
		return nil, err
	}
	return scanRows(rows)
}

// Forget implements dedupe.Attic. Evidence and jobs go with their receipts; evidence is sealed before, unless nobody seals
// for five minutes.
func (s *Store) Forget(ctx context.Context, limit int) (receipts, jobs int, err error) {
	const oldReceipts = `DELETE FROM receipts WHERE id IN
		(SELECT id FROM receipts WHERE expires > 0 AND expires <= ?1 AND state NOT IN (1, 3)
		AND (chain = x'' OR expires <= ?1 - 300000000 OR NOT EXISTS
			(SELECT 1 FROM evidence WHERE receipt = receipts.id AND checkpoint = 0 AND sum <> x''))
		ORDER BY expires LIMIT ?2)`
	const old = `(SELECT receipt FROM jobs JOIN receipts ON receipts.id = jobs.receipt
		WHERE jobs.expires > 0 AND jobs.expires <= ? AND receipts.state = 5 ORDER BY jobs.expires, receipt LIMIT ?)`
	const withoutJobs = `UPDATE receipts SET token = randomblob(16) WHERE id IN ` + old // tells who wants to have it sent again
	const oldJobs = `DELETE FROM jobs WHERE receipt IN ` + old
	err = s.transact(ctx, 1, func(tx *sql.Tx, now time.Time) error {
		if receipts, err = affected(ctx, tx, oldReceipts, now, limit); err != nil {
			return err
		}
		if _, err = affected(ctx, tx, withoutJobs, now, limit); err != nil {
			return err
		}
		jobs, err = affected(ctx, tx, oldJobs, now, limit)
		return err
	})
	return receipts, jobs, err
}

// affected makes a change of at most limit rows and returns how many there were.
func affected(ctx context.Context, tx *sql.Tx, statement string, now time.Time, limit int) (int, error) {
	result, err := tx.ExecContext(ctx, statement, now.UnixMicro(), limit)
	if err != nil {
		return 0, err
	}
	count, err := result.RowsAffected()
	return int(count), err
}

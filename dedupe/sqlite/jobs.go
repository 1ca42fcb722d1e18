package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func putJob(ctx context.Context, upsert *sql.Stmt, id int64, job *dedupe.Job, expires int64) error {
	_, err := upsert.ExecContext(ctx, id, blob(job.Method), blob(job.Target), blob(job.Host), encodeHeader(job.Header),
		blob(job.Body), expires)
	return err
}

// Job implements dedupe.Jobs.
func (s *Store) Job(ctx context.Context, key dedupe.Key) (*dedupe.Job, error) {
	const query = `SELECT method, target, host, header, body FROM jobs
		WHERE receipt = (SELECT id FROM receipts WHERE scope = ? AND event_id = ?)`
	var method, target, host, header, body []byte
	err := s.db.QueryRowContext(ctx, query, key.Scope, key.EventID).Scan(&method, &target, &host, &header, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, dedupe.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return kept(method, target, host, header, body), nil
}

// Requests implements dedupe.Jobs.
func (s *Store) Requests(ctx context.Context, keys []dedupe.Key) ([]*dedupe.Job, error) {
	jobs := make([]*dedupe.Job, len(keys))
	for i, key := range keys {
		job, err := s.Job(ctx, key)
		if err != nil && !errors.Is(err, dedupe.ErrNotFound) {
			return nil, err
		}
		jobs[i] = job
	}
	return jobs, nil
}

// Unopened implements dedupe.Jobs.
func (s *Store) Unopened(ctx context.Context, keys []dedupe.Key) ([]*dedupe.SealedError, error) {
	const query = `SELECT substr(body, 1, 16) FROM jobs
		WHERE length(method) = 0 AND receipt = (SELECT id FROM receipts WHERE scope = ? AND event_id = ?)`
	unopened := make([]*dedupe.SealedError, len(keys))
	for i, key := range keys {
		var head []byte
		err := s.db.QueryRowContext(ctx, query, key.Scope, key.EventID).Scan(&head)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		unopened[i] = dedupe.Unopened(key, head)
	}
	return unopened, nil
}

// Due implements dedupe.Jobs.
func (s *Store) Due(ctx context.Context, scopes []delivery.Scope, limit int) (dedupe.Due, error) {
	const query = `SELECT ` + columns + ` FROM receipts WHERE state = 3 AND scope = ? AND next_attempt <= ?
		ORDER BY next_attempt LIMIT ?`
	held, err := s.held(ctx)
	due := dedupe.Due{Now: s.now(), Held: held}
	for _, scope := range scopes {
		if err != nil {
			return dedupe.Due{}, err
		}
		var rows *sql.Rows
		if rows, err = s.db.QueryContext(ctx, query, scope, due.Now.UnixMicro(), limit); err == nil {
			var found []dedupe.Row
			found, err = scanRows(rows)
			due.Rows = append(due.Rows, found...)
		}
	}
	slices.SortStableFunc(due.Rows, func(a, b dedupe.Row) int { return a.NextAttempt.Compare(b.NextAttempt) })
	return due, err
}

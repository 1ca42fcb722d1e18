package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

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
	fields, err := decodeHeader(header)
	if err != nil {
		return nil, fmt.Errorf("kept header: %w", err)
	}
	return &dedupe.Job{Method: string(method), Target: string(target), Host: string(host), Header: fields, Body: body}, nil
}

// Due implements dedupe.Jobs.
func (s *Store) Due(ctx context.Context, scopes []delivery.Scope, limit int) ([]dedupe.Row, error) {
	if len(scopes) == 0 || limit <= 0 {
		return nil, nil
	}
	// The plus keeps the planner on the index by time: by scope it would read and sort everything that waits.
	query := `SELECT ` + columns + ` FROM receipts WHERE state = 3 AND next_attempt <= ? AND +scope IN (?` +
		strings.Repeat(", ?", len(scopes)-1) + `) ORDER BY next_attempt LIMIT ?`
	arguments := []any{s.now().UnixMicro()}
	for _, scope := range scopes {
		arguments = append(arguments, scope)
	}
	rows, err := s.db.QueryContext(ctx, query, append(arguments, limit)...)
	if err != nil {
		return nil, err
	}
	return scanRows(rows)
}

package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	schema = `CREATE SCHEMA IF NOT EXISTS naive;
CREATE TABLE IF NOT EXISTS naive.receipts (
	scope text NOT NULL, event_id text NOT NULL, created timestamptz NOT NULL DEFAULT now(),
	status int, content_type text, body bytea, PRIMARY KEY (scope, event_id))`
	claim   = `INSERT INTO naive.receipts (scope, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	recall  = `SELECT status, content_type, body FROM naive.receipts WHERE scope = $1 AND event_id = $2 AND status IS NOT NULL`
	record  = `UPDATE naive.receipts SET status = $3, content_type = $4, body = $5 WHERE scope = $1 AND event_id = $2`
	release = `DELETE FROM naive.receipts WHERE scope = $1 AND event_id = $2`
)

// result is what the application answered.
type result struct {
	status      int
	contentType string
	body        []byte
}

type ledger struct{ pool *pgxpool.Pool }

func newLedger(ctx context.Context, pool *pgxpool.Pool) (*ledger, error) {
	_, err := pool.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol)
	return &ledger{pool: pool}, err
}

func (l *ledger) claim(ctx context.Context, scope, id string) (bool, error) {
	tag, err := l.pool.Exec(ctx, claim, scope, id)
	return tag.RowsAffected() == 1, err
}

func (l *ledger) recall(ctx context.Context, scope, id string) (result, error) {
	var r result
	err := l.pool.QueryRow(ctx, recall, scope, id).Scan(&r.status, &r.contentType, &r.body)
	return r, err
}

func (l *ledger) record(ctx context.Context, scope, id string, r result) error {
	_, err := l.pool.Exec(ctx, record, scope, id, r.status, r.contentType, r.body)
	return err
}

func (l *ledger) release(ctx context.Context, scope, id string) error {
	_, err := l.pool.Exec(ctx, release, scope, id)
	return err
}

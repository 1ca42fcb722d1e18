package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const (
	expiredSQL = `SELECT ` + rowColumns + `
FROM {schema}.receipts r
WHERE r.state = 1 AND r.due <= now() - $1::bigint * interval '1 microsecond'
ORDER BY r.due LIMIT $2`

	// Rows that somebody is about to change are left for the next time. The index knows times rounded down.
	forgetSQL = `WITH old AS MATERIALIZED (
    SELECT r.scope_id, r.event_id FROM {schema}.receipts r
    WHERE r.state NOT IN (1, 3) AND r.due < 'infinity'
      AND date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') <= now() AND r.due <= now()
    ORDER BY date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') LIMIT $1
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.receipts r USING old
    WHERE r.scope_id = old.scope_id AND r.event_id = old.event_id
    RETURNING r.scope_id, r.event_id, r.job
), evidence AS (
    DELETE FROM {schema}.evidence e USING gone WHERE e.scope_id = gone.scope_id AND e.event_id = gone.event_id
), jobs AS (
    DELETE FROM {schema}.jobs j USING gone
    WHERE gone.job = 1 AND j.scope_id = gone.scope_id AND j.event_id = gone.event_id
)
SELECT count(*) FROM gone`

	forgetJobSQL = `WITH old AS MATERIALIZED (
    SELECT r.scope_id, r.event_id FROM {schema}.jobs j
    JOIN {schema}.receipts r ON r.scope_id = j.scope_id AND r.event_id = j.event_id
    WHERE j.until < 'infinity' AND j.until <= now() AND r.state = 5
    LIMIT $1
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.jobs j USING old
    WHERE j.scope_id = old.scope_id AND j.event_id = old.event_id
    RETURNING j.scope_id, j.event_id
), told AS (
    UPDATE {schema}.receipts r SET job = 0 FROM gone
    WHERE r.scope_id = gone.scope_id AND r.event_id = gone.event_id
)
SELECT count(*) FROM gone`
)

// Expired implements dedupe.Attic. Replicas that sweep at the same time may get the same rows; the moves that follow are
// fenced.
func (s *Store) Expired(ctx context.Context, grace time.Duration, limit int) ([]dedupe.Row, error) {
	return s.query(ctx, lookupGuard, s.sql.expired, micros(grace), int64(limit))
}

// Forget implements dedupe.Attic.
func (s *Store) Forget(ctx context.Context, limit int) (receipts, jobs int, err error) {
	if receipts, err = s.count(ctx, s.sql.forget, int64(limit)); err != nil {
		return 0, 0, err
	}
	jobs, err = s.count(ctx, s.sql.forgetJob, int64(limit))
	return receipts, jobs, err
}

func (s *Store) count(ctx context.Context, sql string, args ...any) (int, error) {
	var n int
	err := s.run(ctx, call{
		guard: lookupGuard, sql: sql, args: args,
		begin: func() { n = 0 },
		scan:  func(rows pgx.Rows) error { return rows.Scan(&n) },
	})
	return n, err
}

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
  AND r.due >= now() - $3::bigint * interval '1 microsecond'
ORDER BY r.due LIMIT $2`

	// The index knows times rounded down.
	overSQL = `SELECT r.scope_id, r.event_id FROM {schema}.receipts r
WHERE r.state NOT IN (1, 3) AND r.due < 'infinity'
  AND date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') <= now() AND r.due <= now()
  AND date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') >= now() - $2::bigint * interval '1 microsecond'
ORDER BY date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') LIMIT $1`

	// What has changed since it was looked for stays.
	forgetSQL = `WITH gone AS (
    DELETE FROM {schema}.receipts r USING unnest($1::integer[], $2::bytea[]) AS i(scope_id, event_id)
    WHERE r.scope_id = i.scope_id AND r.event_id = i.event_id AND r.state NOT IN (1, 3) AND r.due <= now()
    RETURNING r.scope_id, r.event_id, r.job
), evidence AS (
    DELETE FROM {schema}.evidence e USING gone WHERE e.scope_id = gone.scope_id AND e.event_id = gone.event_id
), jobs AS (
    DELETE FROM {schema}.jobs j USING gone
    WHERE gone.job = 1 AND j.scope_id = gone.scope_id AND j.event_id = gone.event_id
)
SELECT count(*) FROM gone`

	// A request that has a limit is of a dead event, or of one that is just leaving that state, which is a parameter so that
	// no index of waiting receipts is read as a whole.
	overJobSQL = `SELECT j.scope_id, j.event_id FROM {schema}.jobs j
WHERE j.until < 'infinity' AND j.until <= now() ORDER BY j.until LIMIT $1`

	forgetJobSQL = `WITH dead AS (
    UPDATE {schema}.receipts r SET job = 0 FROM unnest($1::integer[], $2::bytea[]) AS i(scope_id, event_id)
    WHERE r.scope_id = i.scope_id AND r.event_id = i.event_id AND r.state = $3
    RETURNING r.scope_id, r.event_id
), gone AS (
    DELETE FROM {schema}.jobs j USING dead
    WHERE j.scope_id = dead.scope_id AND j.event_id = dead.event_id AND j.until <= now()
    RETURNING j.scope_id
)
SELECT count(*) FROM gone`
)

// Expired implements dedupe.Attic. Replicas that sweep at the same time may get the same rows; the moves that follow are
// fenced.
func (s *Store) Expired(ctx context.Context, grace time.Duration, limit int) ([]dedupe.Row, error) {
	began := time.Now()
	back := s.expired.back(began)
	rows, err := s.query(ctx, lookupGuard, s.sql.expired, micros(grace), int64(limit), micros(back+grace))
	if err == nil && len(rows) == 0 {
		s.expired.cleared(began, back)
	}
	return rows, err
}

// Forget implements dedupe.Attic. It looks first and deletes then, so that each step has the plan that suits it.
func (s *Store) Forget(ctx context.Context, limit int) (receipts, jobs int, err error) {
	began := time.Now()
	back := s.forgotten.back(began)
	receipts, err = s.forget(ctx, s.sql.over, []any{int64(limit), micros(back)}, s.sql.forget)
	if err != nil {
		return 0, 0, err
	}
	if receipts < limit {
		s.forgotten.cleared(began, back)
	}
	jobs, err = s.forget(ctx, s.sql.overJob, []any{int64(limit)}, s.sql.forgetJob, int16(dedupe.Dead))
	return receipts, jobs, err
}

// forget deletes what a look finds; more are the statement's arguments behind the keys.
func (s *Store) forget(ctx context.Context, look string, args []any, sql string, more ...any) (deleted int, err error) {
	var scopes []int32
	var events [][]byte
	err = s.run(ctx, call{
		guard: lookupGuard, sql: look, args: args,
		begin: func() { scopes, events = nil, nil },
		scan: func(rows pgx.Rows) error {
			var scope int32
			var event []byte
			err := rows.Scan(&scope, &event)
			scopes, events = append(scopes, scope), append(events, event)
			return err
		},
	})
	if err != nil || len(scopes) == 0 {
		return 0, err
	}
	err = s.run(ctx, call{
		guard: keyGuard, sql: sql, args: append([]any{scopes, events}, more...),
		begin: func() { deleted = 0 },
		scan:  func(rows pgx.Rows) error { return rows.Scan(&deleted) },
	})
	return deleted, err
}

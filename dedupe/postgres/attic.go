package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

const (
	// A claim that somebody holds back is passed over, but it is one: another look begins where it is.
	expiredSQL = `SELECT t.now, t.present, ` + rowColumns + `
FROM (SELECT now(), EXISTS (SELECT ` + expired + `)) AS t (now, present) LEFT JOIN LATERAL (
    SELECT * ` + expired + `
    ORDER BY r.due LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
) r ON true ORDER BY r.due`

	expired = `FROM {schema}.receipts r
    WHERE r.state = 1 AND r.due <= now() - $1::bigint * interval '1 microsecond' AND r.due >= $3`

	// over is what may go: the index knows times rounded down. Evidence is sealed before it is forgotten, unless nobody seals
	// for minutes.
	over = `FROM {schema}.receipts r
    WHERE r.state NOT IN (1, 3) AND r.due < 'infinity'
      AND (r.chain = ''::bytea OR r.due <= now() - interval '5 minutes' OR (
        SELECT e.id FROM {schema}.evidence e
        WHERE e.scope_id = r.scope_id AND e.event_id = r.event_id AND e.checkpoint = 0 AND e.sum <> ''::bytea
        LIMIT 1) IS NULL)
      AND date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') <= now() AND r.due <= now()
      AND date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') >= `

	// A receipt goes with its evidence and its request, or stays. What somebody else has locked (another replica that
	// forgets it just now, a delivery, a person) is passed over; once it is locked here it can no longer change. Rows are
	// deleted by their place, so that nothing is looked up twice; one that has moved on meanwhile is not there any more.
	// Other tables are looked up by subqueries with a LIMIT, for which there is one plan (see run.go).
	forgetSQL = `WITH held AS MATERIALIZED (
    SELECT r.ctid AS place, date_bin('10 seconds', r.due, '2000-01-01 00:00:00+00') AS bin ` + over + `$2
    ORDER BY bin LIMIT $1 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.receipts r WHERE r.ctid = ANY (ARRAY(SELECT place FROM held))
        AND r.state NOT IN (1, 3) AND r.due <= now()
    RETURNING r.scope_id, r.event_id, r.job
), evidence AS (
    DELETE FROM {schema}.evidence e WHERE e.ctid = ANY (ARRAY(
        SELECT e.ctid FROM gone CROSS JOIN LATERAL (SELECT e.ctid FROM {schema}.evidence e
            WHERE e.scope_id = gone.scope_id AND e.event_id = gone.event_id LIMIT 1000000) e))
), jobs AS (
    DELETE FROM {schema}.jobs j WHERE j.ctid = ANY (ARRAY(
        SELECT j.ctid FROM gone CROSS JOIN LATERAL (SELECT j.ctid FROM {schema}.jobs j
            WHERE j.scope_id = gone.scope_id AND j.event_id = gone.event_id LIMIT 1) j WHERE gone.job = 1))
)
SELECT now(), (SELECT count(*) FROM gone), (SELECT count(*) FROM held), (SELECT max(bin) FROM held)`

	// Whether anything is over.
	leftSQL = `SELECT now(), EXISTS (SELECT ` + over + `$1)`

	// A request that has a limit is of a dead event, or of one that is just leaving that state. What is locked elsewhere is
	// passed over before the limit counts. While the receipt is locked here nothing happens to its request. A new token tells
	// whoever wants to have it sent again that it is gone.
	forgetJobSQL = `WITH held AS MATERIALIZED (
    SELECT r.place FROM (
        SELECT j.scope_id, j.event_id FROM {schema}.jobs j
        WHERE j.until < 'infinity' AND j.until <= now() ORDER BY j.until
    ) over CROSS JOIN LATERAL (
        SELECT r.ctid AS place FROM {schema}.receipts r
        WHERE r.scope_id = over.scope_id AND r.event_id = over.event_id AND r.state = $2 LIMIT 1 FOR UPDATE SKIP LOCKED
    ) r LIMIT $1
), dead AS (
    UPDATE {schema}.receipts r SET job = 0, token = uuid_send(gen_random_uuid())
    WHERE r.ctid = ANY (ARRAY(SELECT place FROM held)) AND r.state = $2
    RETURNING r.scope_id, r.event_id
), gone AS (
    DELETE FROM {schema}.jobs j WHERE j.until <= now() AND j.ctid = ANY (ARRAY(
        SELECT j.ctid FROM dead CROSS JOIN LATERAL (SELECT j.ctid FROM {schema}.jobs j
            WHERE j.scope_id = dead.scope_id AND j.event_id = dead.event_id LIMIT 1) j))
    RETURNING j.scope_id
)
SELECT count(*) FROM gone`
)

// Expired implements dedupe.Attic. Replicas that sweep at the same time may get the same rows; the moves that follow are
// fenced.
func (s *Store) Expired(ctx context.Context, grace time.Duration, limit int) ([]dedupe.Row, error) {
	since := s.expired.since()
	if !since.IsZero() {
		since = since.Add(-grace)
	}
	var list []stored
	var now time.Time
	var present bool
	err := s.run(ctx, call{
		guard: sweepGuard, sql: s.sql.expired, args: []any{micros(grace), int64(limit), beginning(since)},
		begin: func() { list = nil },
		scan: func(rows pgx.Rows) error {
			var row stored
			err := row.scan(rows, &now, &present)
			if row.state != nil {
				list = append(list, row)
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	s.expired.looked(now, since, !present)
	return s.rows(ctx, list)
}

// Forget implements dedupe.Attic. Replicas that sweep at the same time share the work. It looks first, which is all that
// there is to do most of the time, unless the batch before was full.
func (s *Store) Forget(ctx context.Context, limit int) (receipts, jobs int, err error) {
	some := s.forgotten.underway()
	if !some {
		if some, err = s.left(ctx); err != nil {
			return 0, 0, err
		}
	}
	if some {
		if receipts, err = s.forget(ctx, limit); err != nil {
			return 0, 0, err
		}
	}
	err = s.run(ctx, call{
		guard: sweepGuard, sql: s.sql.forgetJob, args: []any{int64(limit), int16(dedupe.Dead)},
		begin: func() { jobs = 0 },
		scan:  func(rows pgx.Rows) error { return rows.Scan(&jobs) },
	})
	return receipts, jobs, err
}

// forget deletes one batch of receipts.
func (s *Store) forget(ctx context.Context, limit int) (gone int, err error) {
	since := s.forgotten.next()
	var now time.Time
	var held int
	var last pgtype.Timestamptz
	err = s.run(ctx, call{
		guard: sweepGuard, sql: s.sql.forget, args: []any{int64(limit), beginning(since)},
		scan: func(rows pgx.Rows) error { return rows.Scan(&now, &gone, &held, &last) },
	})
	if err != nil {
		return 0, err
	}
	s.forgotten.looked(now, since, false)
	if held < limit {
		last.Time = time.Time{}
	}
	s.forgotten.reached(last.Time)
	return gone, nil
}

// left tells whether something is over, also what a sweep has passed over because it was locked.
func (s *Store) left(ctx context.Context) (some bool, err error) {
	since := s.forgotten.since()
	var now time.Time
	err = s.run(ctx, call{
		guard: sweepGuard, sql: s.sql.left, args: []any{beginning(since)},
		scan: func(rows pgx.Rows) error { return rows.Scan(&now, &some) },
	})
	if err == nil {
		s.forgotten.looked(now, since, !some)
	}
	return some, err
}

// beginning is a time as an argument; zero: before everything.
func beginning(at time.Time) pgtype.Timestamptz {
	if at.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: at, Valid: true}
}

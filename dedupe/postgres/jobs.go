package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	jobSQL = `SELECT i.n, j.request
FROM unnest($1::integer[], $2::bytea[]) WITH ORDINALITY AS i(scope_id, event_id, n)
CROSS JOIN LATERAL (
    SELECT * FROM {schema}.jobs j WHERE j.scope_id = i.scope_id AND j.event_id = i.event_id LIMIT 1
) j`

	// A sealed value's head is within the first bytes of a packed request.
	jobHeadsSQL = `SELECT i.n, substring(j.request FROM 1 FOR 32)
FROM unnest($1::integer[], $2::bytea[]) WITH ORDINALITY AS i(scope_id, event_id, n)
CROSS JOIN LATERAL (
    SELECT * FROM {schema}.jobs j WHERE j.scope_id = i.scope_id AND j.event_id = i.event_id LIMIT 1
) j`

	// One look-up in order for each scope: a scope that is not asked for, or is asked for too, may have any number of due
	// rows. A look begins where the horizon says. There is always a row to tell which scopes are held. Names are looked up here, because a scope that the ledger
	// does not know yet would be asked for each time.
	dueSQL = `SELECT now(), ARRAY(
    SELECT l.scope FROM (
        SELECT DISTINCT ON (p.scope) p.scope, p.paused FROM {schema}.pauses p ORDER BY p.scope, p.id DESC
    ) l WHERE l.paused
), ` + rowColumns + `
FROM (SELECT 1) one LEFT JOIN (
    SELECT q.* FROM unnest($1::bytea[], $3::timestamptz[]) AS i(scope, since)
    CROSS JOIN LATERAL (
        SELECT n.id FROM {schema}.names n WHERE n.kind = 1 AND n.a = i.scope AND n.b = ''::bytea LIMIT 1
    ) n
    CROSS JOIN LATERAL (
        SELECT * FROM {schema}.receipts q
        WHERE q.state = 3 AND q.scope_id = n.id AND q.due <= now() AND q.due >= i.since
        ORDER BY q.due LIMIT $2
    ) q
) r ON true
ORDER BY r.due`
)

// Job implements dedupe.Jobs.
func (s *Store) Job(ctx context.Context, key dedupe.Key) (*dedupe.Job, error) {
	jobs, err := s.Requests(ctx, []dedupe.Key{key})
	if err == nil && jobs[0] == nil {
		err = dedupe.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return jobs[0], nil
}

// Requests implements dedupe.Jobs.
func (s *Store) Requests(ctx context.Context, keys []dedupe.Key) ([]*dedupe.Job, error) {
	jobs := make([]*dedupe.Job, len(keys))
	if len(keys) == 0 {
		return jobs, nil
	}
	scopes, events, err := s.keys(ctx, keys)
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.job, args: []any{scopes, events},
		begin: func() { clear(jobs) },
		scan: func(rows pgx.Rows) error {
			var n int64
			var packed []byte
			err := rows.Scan(&n, &packed)
			if err == nil {
				jobs[n-1] = keptJob(packed)
			}
			return err
		},
	})
	return jobs, err
}

// Unopened implements dedupe.Jobs.
func (s *Store) Unopened(ctx context.Context, keys []dedupe.Key) ([]*dedupe.SealedError, error) {
	unopened := make([]*dedupe.SealedError, len(keys))
	if len(keys) == 0 {
		return unopened, nil
	}
	scopes, events, err := s.keys(ctx, keys)
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.jobHeads, args: []any{scopes, events},
		begin: func() { clear(unopened) },
		scan: func(rows pgx.Rows) error {
			var n int64
			var packed []byte
			err := rows.Scan(&n, &packed)
			if value, sealed := sealedHead(packed); err == nil && sealed {
				unopened[n-1] = dedupe.Unopened(keys[n-1], value)
			}
			return err
		},
	})
	return unopened, err
}

// Due implements dedupe.Jobs.
func (s *Store) Due(ctx context.Context, scopes []delivery.Scope, limit int) (dedupe.Due, error) {
	reaches := s.due.next(scopes)
	asked, since := make([][]byte, len(scopes)), make([]time.Time, len(scopes))
	for i, scope := range scopes {
		asked[i], since[i] = bytesOf(string(scope)), reaches[i].since
	}
	var look dueLook
	err := s.run(ctx, call{
		guard: lookupGuard, sql: s.sql.due, args: []any{asked, int64(limit), since},
		begin: func() { look = dueLook{} },
		scan:  look.scan,
	})
	if err != nil {
		return dedupe.Due{}, err
	}
	rows, err := s.rows(ctx, look.rows)
	if err == nil {
		s.due.saw(scopes, reaches, oldestOf(rows), look.now)
	}
	return dedupe.Due{Rows: rows, Now: look.now, Held: look.scopes()}, err
}

// oldestOf is the first due time of each scope.
func oldestOf(rows []dedupe.Row) map[delivery.Scope]time.Time {
	oldest := make(map[delivery.Scope]time.Time)
	for i := range rows {
		if _, known := oldest[rows[i].Scope]; !known { // they are in order
			oldest[rows[i].Scope] = rows[i].NextAttempt
		}
	}
	return oldest
}

// dueLook is the answer to a look for what is due.
type dueLook struct {
	now  time.Time
	held [][]byte
	rows []stored
}

func (l *dueLook) scan(rows pgx.Rows) error {
	var row stored
	err := row.scan(rows, &l.now, &l.held)
	if err == nil && row.state != nil {
		l.rows = append(l.rows, row)
	}
	return err
}

func (l *dueLook) scopes() []delivery.Scope {
	var scopes []delivery.Scope
	for _, scope := range l.held {
		scopes = append(scopes, delivery.Scope(scope))
	}
	return scopes
}

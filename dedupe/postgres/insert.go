package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// The parts of an insertion. Nearly every row is new, so a statement only adds; for the rows that it did not add another
// one asks. In between they may have been forgotten, and are added after all.
const (
	insertInto = `INSERT INTO {schema}.receipts (created, changed, due, scope_id, origin_id, reason_id, attempt, state, status,
    on_expiry, job, token, fingerprint, event_id, trace, binding, object, head, body)
`
	// What is not said of a row is that of a first claim. Rows are locked in the order of a batch, which is by key.
	insertRows = `SELECT now(), now(), now() + i.wait * interval '1 microsecond', i.scope_id, i.origin_id, 0, 1,
    1, 0, i.on_expiry, 0, i.token, i.fingerprint, i.event_id, i.trace, i.binding, i.object, ''::bytea, ''::bytea
FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bytea[], $5::integer[], $6::bytea[], $7::bytea[],
    $8::bytea[], $9::bigint[], $10::smallint[])
WITH ORDINALITY AS i(scope_id, event_id, fingerprint, binding, origin_id, object, trace, token, wait, on_expiry, n)
ORDER BY i.n
`
	insertRow = `VALUES (now(), now(), now() + $9::bigint * interval '1 microsecond', $1::integer, $5::integer, 0, 1,
    1, 0, $10::smallint, 0, $8::bytea, $3::bytea, $2::bytea, $7::bytea, $4::bytea, $6::bytea, ''::bytea, ''::bytea)
`
	insertAnswer = `ON CONFLICT DO NOTHING
RETURNING scope_id, event_id, now()`

	insertSQL    = insertInto + insertRows + insertAnswer
	insertOneSQL = insertInto + insertRow + insertAnswer

	// insertJobSQL adds rows of any kind, with their requests.
	insertJobSQL = `WITH i AS MATERIALIZED (
    SELECT * FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bytea[], $5::integer[], $6::bytea[], $7::bytea[],
        $8::bytea[], $9::bigint[], $10::smallint[], $11::smallint[], $12::integer[], $13::integer[], $14::bytea[])
    WITH ORDINALITY AS i(scope_id, event_id, fingerprint, binding, origin_id, object, trace,
        token, wait, on_expiry, state, reason_id, attempt, request, n)
), added AS (
    ` + insertInto + `SELECT now(), now(), now() + i.wait * interval '1 microsecond', i.scope_id, i.origin_id, i.reason_id, i.attempt,
        i.state, 0, i.on_expiry, CASE WHEN i.request IS NULL THEN 0 ELSE 1 END, i.token, i.fingerprint, i.event_id,
        i.trace, i.binding, i.object, ''::bytea, ''::bytea
    FROM i ORDER BY i.n
    ON CONFLICT DO NOTHING
    RETURNING scope_id, event_id
), kept AS (
    INSERT INTO {schema}.jobs (until, scope_id, event_id, request)
    SELECT 'infinity', i.scope_id, i.event_id, i.request
    FROM added a JOIN i ON i.scope_id = a.scope_id AND i.event_id = a.event_id
    WHERE i.request IS NOT NULL
    ON CONFLICT (scope_id, event_id) DO UPDATE SET request = EXCLUDED.request, until = EXCLUDED.until
)
SELECT scope_id, event_id, now() FROM added`

	// The row with the ID comes before the one with the binding. LIMIT keeps each look-up a look-up.
	existingSQL = `SELECT i.n, now(), ` + rowColumns + `
FROM unnest($1::integer[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS i(scope_id, event_id, binding, n)
CROSS JOIN LATERAL (
    (SELECT r.* FROM {schema}.receipts r WHERE r.scope_id = i.scope_id AND r.event_id = i.event_id)
    UNION ALL
    (SELECT r.* FROM {schema}.receipts r
     WHERE r.scope_id = i.scope_id AND r.binding = i.binding AND r.binding <> ''::bytea)
    LIMIT 1
) r`
)

// maxLooks bounds how often rows are asked for again that were neither added nor found: each time somebody else has just
// added, or just forgotten, such a row.
const maxLooks = 8

var (
	errElusive  = errors.New("postgres: a row could neither be added nor found")
	errStranger = errors.New("postgres: a row was added that nobody asked for")
)

// Insert implements dedupe.Store.
func (s *Store) Insert(ctx context.Context, rows []dedupe.NewRow) ([]dedupe.Found, error) {
	answers := make([]dedupe.Found, len(rows))
	open := make([]int, len(rows)) // of rows without an answer
	for i := range open {
		open[i] = i
	}
	for look := 0; len(open) > 0; look++ {
		if look == maxLooks {
			return nil, errElusive
		}
		rest, err := s.add(ctx, rows, open, answers)
		if err == nil && len(rest) > 0 {
			rest, err = s.existing(ctx, rows, rest, answers)
			err = uncertain(err)
		}
		if look > 0 {
			err = uncertain(err)
		}
		if err != nil {
			return nil, err
		}
		open = rest
	}
	return answers, nil
}

// add adds rows, and returns those that could not be added.
func (s *Store) add(ctx context.Context, rows []dedupe.NewRow, open []int, answers []dedupe.Found) ([]int, error) {
	ids, err := s.names.intern(ctx, namesOfRows(rows, open))
	if err != nil {
		return nil, err
	}
	in := newInsertion(rows, open, ids)
	sql, args := in.statement(&s.sql)
	added := addition{in: in}
	err = s.run(ctx, call{guard: keyGuard, sql: sql, args: args, rows: len(open), begin: added.begin, scan: added.scan})
	if err != nil {
		return nil, err
	}
	var rest []int
	for i, at := range open {
		if added.done[i] {
			answers[at] = dedupe.Found{Inserted: true, Now: added.now}
		} else {
			rest = append(rest, at)
		}
	}
	return rest, nil
}

// addition finds out which rows of an insertion were added.
type addition struct {
	in   *insertion
	done []bool
	next int // where the next row is expected: answers come in the batch's order
	now  time.Time

	scope int32 // of the row that is read
	event pgtype.DriverBytes
}

func (a *addition) begin() { a.done, a.next = make([]bool, len(a.in.events)), 0 }

func (a *addition) scan(rows pgx.Rows) error {
	if err := rows.Scan(&a.scope, &a.event, &a.now); err != nil {
		return err
	}
	for step := range a.done {
		i := (a.next + step) % len(a.done)
		if !a.done[i] && a.in.scopes[i] == a.scope && bytes.Equal(a.in.events[i], a.event) {
			a.done[i], a.next = true, i+1
			return nil
		}
	}
	return errStranger
}

// existing answers with the rows that are there, and returns those that are not.
func (s *Store) existing(ctx context.Context, rows []dedupe.NewRow, open []int, answers []dedupe.Found) ([]int, error) {
	scopes, events, err := s.keys(ctx, keysOf(rows, open))
	if err != nil {
		return nil, err
	}
	bindings := make([][]byte, len(open))
	for i, at := range open {
		bindings[i] = bindingOf(&rows[at].Binding)
	}
	var found []stored
	err = s.run(ctx, call{
		guard: keyGuard, sql: s.sql.existing, args: []any{scopes, events, bindings},
		begin: func() { found = nil },
		scan: func(rows pgx.Rows) error {
			var row stored
			var n int64
			err := row.scan(rows, &n, &row.now)
			row.answer = int(n) - 1
			found = append(found, row)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return s.tellFound(ctx, found, open, answers)
}

func (s *Store) tellFound(ctx context.Context, found []stored, open []int, answers []dedupe.Found) ([]int, error) {
	told, err := s.rows(ctx, found)
	if err != nil {
		return nil, err
	}
	missing := make([]bool, len(open))
	for i := range missing {
		missing[i] = true
	}
	for i := range found {
		missing[found[i].answer] = false
		answers[open[found[i].answer]] = dedupe.Found{Row: told[i], Now: found[i].now}
	}
	var rest []int
	for i, at := range open {
		if missing[i] {
			rest = append(rest, at)
		}
	}
	return rest, nil
}

func keysOf(rows []dedupe.NewRow, open []int) []dedupe.Key {
	keys := make([]dedupe.Key, len(open))
	for i, at := range open {
		keys[i] = rows[at].Key
	}
	return keys
}

func namesOfRows(rows []dedupe.NewRow, open []int) []name {
	wanted := make([]name, 0, 3*len(open))
	for _, i := range open {
		row := &rows[i]
		wanted = append(wanted, scopeOf(row.Scope), originOf(row), reasonOf(row))
	}
	return wanted
}

func originOf(row *dedupe.NewRow) name {
	return name{kind: originName, a: row.CredentialID, b: row.EventType}
}

func reasonOf(row *dedupe.NewRow) name {
	if row.State == dedupe.Queued {
		return name{kind: reasonName, a: string(dedupe.Accepted)}
	}
	return name{kind: reasonName}
}

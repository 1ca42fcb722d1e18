package postgres

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// The parts of an insertion. A conflict with a row that another transaction has committed since the statement began
// gives neither an added nor a found row; a new statement sees it.
const (
	insertInput = `WITH i AS MATERIALIZED (
    SELECT * FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::bytea[], $5::integer[], $6::bytea[], $7::bytea[],
        $8::smallint[], $9::bytea[], $10::bigint[], $11::smallint[], $12::integer[], $13::integer[], $14::bytea[])
    WITH ORDINALITY AS i(scope_id, event_id, fingerprint, binding, origin_id, object, trace,
        state, token, wait, on_expiry, reason_id, attempt, request, n)
), added AS (
    INSERT INTO {schema}.receipts (created, changed, due, scope_id, origin_id, reason_id, attempt, state, status,
        on_expiry, job, token, fingerprint, event_id, trace, binding, object, head, body)
    SELECT now(), now(), now() + i.wait * interval '1 microsecond', i.scope_id, i.origin_id, i.reason_id, i.attempt,
        i.state, 0, i.on_expiry, CASE WHEN i.request IS NULL THEN 0 ELSE 1 END, i.token, i.fingerprint, i.event_id,
        i.trace, i.binding, i.object, ''::bytea, ''::bytea
    FROM i ORDER BY i.n
    ON CONFLICT DO NOTHING
    RETURNING scope_id, event_id
)`
	insertJobs = `, kept AS (
    INSERT INTO {schema}.jobs (until, scope_id, event_id, request)
    SELECT 'infinity', i.scope_id, i.event_id, i.request
    FROM added a JOIN i ON i.scope_id = a.scope_id AND i.event_id = a.event_id
    WHERE i.request IS NOT NULL
    ON CONFLICT (scope_id, event_id) DO UPDATE SET request = EXCLUDED.request, until = EXCLUDED.until
)`
	// The row with the ID comes before the one with the binding. LIMIT keeps each look-up a look-up.
	insertAnswer = `
SELECT i.n, a.scope_id IS NOT NULL, now(), ` + rowColumns + `
FROM i LEFT JOIN added a ON a.scope_id = i.scope_id AND a.event_id = i.event_id
LEFT JOIN LATERAL (
    (SELECT r.* FROM {schema}.receipts r
     WHERE a.scope_id IS NULL AND r.scope_id = i.scope_id AND r.event_id = i.event_id)
    UNION ALL
    (SELECT r.* FROM {schema}.receipts r
     WHERE a.scope_id IS NULL AND r.scope_id = i.scope_id AND r.binding = i.binding AND r.binding <> ''::bytea)
    LIMIT 1
) r ON true`

	insertSQL    = insertInput + insertAnswer
	insertJobSQL = insertInput + insertJobs + insertAnswer
)

// maxLooks bounds how often rows are asked for again that were neither added nor found: each time somebody else has just
// added, or just forgotten, such a row.
const maxLooks = 8

var errElusive = errors.New("postgres: a row could neither be added nor found")

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
		var err error
		if open, err = s.insert(ctx, rows, open, answers); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// insert answers what it can and returns the rest.
func (s *Store) insert(ctx context.Context, rows []dedupe.NewRow, open []int, answers []dedupe.Found) ([]int, error) {
	ids, err := s.names.intern(ctx, namesOfRows(rows, open))
	if err != nil {
		return nil, err
	}
	in := newInsertion(rows, open, ids)
	result := insertResult{open: open, answers: answers}
	err = s.run(ctx, call{
		guard: lookupGuard, sql: in.statement(&s.sql), args: in.args(), rows: len(open),
		begin: result.begin, scan: result.scan,
	})
	if err != nil {
		return nil, err
	}
	return result.rest, s.tellFound(ctx, result.found, answers)
}

// insertResult sorts the statement's answer.
type insertResult struct {
	open    []int
	answers []dedupe.Found
	found   []stored // rows that existed
	rest    []int    // neither added nor found
}

func (r *insertResult) begin() { r.found, r.rest = nil, nil }

func (r *insertResult) scan(rows pgx.Rows) error {
	var n int64
	var added bool
	var row stored
	if err := row.scan(rows, &n, &added, &row.now); err != nil {
		return err
	}
	row.answer = r.open[n-1]
	switch {
	case added:
		r.answers[row.answer] = dedupe.Found{Inserted: true, Now: row.now}
	case row.state == nil:
		r.rest = append(r.rest, row.answer)
	default:
		r.found = append(r.found, row)
	}
	return nil
}

func (s *Store) tellFound(ctx context.Context, found []stored, answers []dedupe.Found) error {
	told, err := s.rows(ctx, found)
	if err != nil {
		return err
	}
	for i := range found {
		answers[found[i].answer] = dedupe.Found{Row: told[i], Now: found[i].now}
	}
	return nil
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

// insertion is a batch as columns.
type insertion struct {
	scopes, origins, reasons, attempts        []int32
	events, prints, bindings, objects, traces [][]byte
	tokens, requests                          [][]byte
	states, expiries                          []int16
	waits                                     []int64
	jobs                                      bool
}

func newInsertion(rows []dedupe.NewRow, open []int, ids map[name]int32) *insertion {
	in := newColumns(len(open))
	for _, i := range open {
		in.add(&rows[i], ids)
	}
	return in
}

// newColumns makes room for a batch.
func newColumns(n int) *insertion {
	numbers, bytes := make([]int32, 4*n), make([][]byte, 7*n)
	number := func(i int) []int32 { return numbers[i*n : i*n : (i+1)*n] }
	column := func(i int) [][]byte { return bytes[i*n : i*n : (i+1)*n] }
	return &insertion{
		scopes: number(0), origins: number(1), reasons: number(2), attempts: number(3),
		events: column(0), prints: column(1), bindings: column(2), objects: column(3), traces: column(4),
		tokens: column(5), requests: column(6),
		states: make([]int16, 0, n), expiries: make([]int16, 0, n), waits: make([]int64, 0, n),
	}
}

func (in *insertion) add(row *dedupe.NewRow, ids map[name]int32) {
	in.scopes = append(in.scopes, ids[scopeOf(row.Scope)])
	in.origins = append(in.origins, ids[originOf(row)])
	in.reasons = append(in.reasons, ids[reasonOf(row)])
	in.events = append(in.events, bytesOf(string(row.EventID)))
	in.prints = append(in.prints, row.Fingerprint[:])
	in.bindings = append(in.bindings, bindingOf(&row.Binding))
	in.objects = append(in.objects, bytesOf(row.Object))
	in.traces = append(in.traces, packTrace(row.Trace))
	in.tokens = append(in.tokens, row.Token[:])
	in.states = append(in.states, int16(row.State))
	in.expiries = append(in.expiries, int16(row.OnExpiry))
	in.request(row)
}

// request adds the columns in which claimed and queued rows differ.
func (in *insertion) request(row *dedupe.NewRow) {
	var request []byte
	if row.Job != nil {
		request, in.jobs = packJob(row.Job), true
	}
	in.requests = append(in.requests, request)
	if row.State == dedupe.Claimed {
		in.attempts, in.waits = append(in.attempts, 1), append(in.waits, micros(row.Lease))
		return
	}
	in.attempts, in.waits = append(in.attempts, 0), append(in.waits, 0)
}

func (in *insertion) statement(sql *statements) string {
	if in.jobs {
		return sql.insertJob
	}
	return sql.insert
}

func (in *insertion) args() []any {
	return []any{in.scopes, in.events, in.prints, in.bindings, in.origins, in.objects, in.traces, in.states, in.tokens,
		in.waits, in.expiries, in.reasons, in.attempts, in.requests}
}

// bindingOf is empty where there is none.
func bindingOf(binding *[sha256.Size]byte) []byte {
	if *binding == ([sha256.Size]byte{}) {
		return []byte{}
	}
	return binding[:]
}

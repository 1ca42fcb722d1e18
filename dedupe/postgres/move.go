package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// The parts of a transition. A row is changed only while it has the state and the token that it is expected to have.
// Dropping a request leaves job = 2, which tells the same statement that there is one to delete.
const (
	moveInput = `WITH m AS MATERIALIZED (
    SELECT * FROM unnest($1::integer[], $2::bytea[], $3::smallint[], $4::bytea[], $5::smallint[], $6::bytea[],
        $7::integer[], $8::integer[], $9::smallint[], $10::bytea[], $11::bytea[], $12::bigint[], $13::smallint[],
        $14::smallint[], $15::bytea[], $16::bigint[], $17::boolean[], $18::smallint[], $19::smallint[], $20::integer[],
        $21::integer[], $22::smallint[], $23::bytea[], $24::bytea[], $25::bytea[], $26::bytea[])
    WITH ORDINALITY AS m(scope_id, event_id, from_state, from_token, to_state, token, attempt, reason_id, status, head,
        body, wait, on_expiry, job, request, job_wait, told, told_from, told_to, told_attempt, told_reason, told_status,
        told_actor, told_note, told_credential, content, n)
), `
	movePlainInput = `WITH m AS MATERIALIZED (
    SELECT * FROM unnest($1::integer[], $2::bytea[], $3::smallint[], $4::bytea[], $5::smallint[], $6::bytea[],
        $7::integer[], $8::integer[], $9::smallint[], $10::bytea[], $11::bytea[], $12::bigint[], $13::smallint[],
        $14::smallint[])
    WITH ORDINALITY AS m(scope_id, event_id, from_state, from_token, to_state, token, attempt, reason_id, status, head,
        body, wait, on_expiry, job, n)
), `
	moveUpdate = `made AS (
    UPDATE {schema}.receipts r
    SET changed = now(), state = m.to_state, token = m.token, attempt = m.attempt, reason_id = m.reason_id,
        status = m.status, head = m.head, body = m.body, on_expiry = m.on_expiry,
        due = CASE WHEN m.wait < 0 THEN 'infinity' ELSE now() + m.wait * interval '1 microsecond' END,
        job = CASE m.job WHEN 0 THEN r.job WHEN 1 THEN 1 ELSE CASE r.job WHEN 1 THEN 2 ELSE 0 END END`

	// An event's evidence is a chain, and its receipt knows the last link: under the row's lock, and of the row's newest
	// version, whatever this statement's snapshot shows of the evidence. An end that never comes is the greatest number.
	moveChain = `,
        chain = CASE WHEN m.told THEN sha256(r.chain || int8send((extract(epoch FROM now()) * 1000000)::bigint) ||
            int8send(CASE WHEN m.to_state IN (1, 3) OR m.wait < 0 THEN 9223372036854775807
                ELSE (extract(epoch FROM now() + m.wait * interval '1 microsecond') * 1000000)::bigint END) || m.content)
            ELSE r.chain END`

	moveFrom = `
    FROM m
    WHERE r.scope_id = m.scope_id AND r.event_id = m.event_id AND r.state = m.from_state AND r.token = m.from_token
    RETURNING m.n, r.scope_id, r.event_id, r.job, r.chain
), dropped AS (
    DELETE FROM {schema}.jobs j USING made
    WHERE made.job = 2 AND j.scope_id = made.scope_id AND j.event_id = made.event_id
)`
	moveRest = `, kept AS (
    INSERT INTO {schema}.jobs (until, scope_id, event_id, request)
    SELECT CASE WHEN m.job_wait < 0 THEN 'infinity' ELSE now() + m.job_wait * interval '1 microsecond' END,
        m.scope_id, m.event_id, m.request
    FROM made JOIN m USING (n) WHERE m.request IS NOT NULL
    ON CONFLICT (scope_id, event_id) DO UPDATE SET request = EXCLUDED.request, until = EXCLUDED.until
), prolonged AS (
    UPDATE {schema}.jobs j
    SET until = CASE WHEN m.job_wait < 0 THEN 'infinity' ELSE now() + m.job_wait * interval '1 microsecond' END
    FROM made JOIN m USING (n)
    WHERE m.request IS NULL AND made.job = 1 AND j.scope_id = made.scope_id AND j.event_id = made.event_id
), told AS (
    INSERT INTO {schema}.evidence (at, until, scope_id, reason_id, attempt, from_state, to_state, status, event_id, actor,
        note, credential, sum)
    SELECT now(), CASE WHEN m.to_state IN (1, 3) OR m.wait < 0 THEN 'infinity'
            ELSE now() + m.wait * interval '1 microsecond' END,
        m.scope_id, m.told_reason, m.told_attempt, m.told_from, m.told_to, m.told_status, m.event_id,
        m.told_actor, m.told_note, m.told_credential, made.chain
    FROM made JOIN m USING (n) WHERE m.told ORDER BY n
)`
	moveAnswer = ` SELECT n, job FROM made`

	// What nearly every move does: a claim becomes applied. Rows with a kept request are passed over; there are none where
	// nothing is ever queued. The state to be left is a parameter, so that no index of claimed receipts is read as a whole.
	applySQL = `UPDATE {schema}.receipts r
SET changed = now(), state = 4, attempt = m.attempt, reason_id = 0, status = m.status, head = m.head, body = m.body,
    due = CASE WHEN m.wait < 0 THEN 'infinity' ELSE now() + m.wait * interval '1 microsecond' END, job = 0
FROM unnest($1::integer[], $2::bytea[], $3::bytea[], $4::integer[], $5::smallint[], $6::bytea[], $7::bytea[], $8::bigint[])
WITH ORDINALITY AS m(scope_id, event_id, token, attempt, status, head, body, wait, n)
WHERE r.scope_id = m.scope_id AND r.event_id = m.event_id AND r.state = $9::smallint AND r.token = m.token AND r.job <> 1
RETURNING m.n, r.job`
	applyOneSQL = `UPDATE {schema}.receipts r
SET changed = now(), state = 4, attempt = $4::integer, reason_id = 0, status = $5::smallint, head = $6::bytea,
    body = $7::bytea, due = CASE WHEN $8::bigint < 0 THEN 'infinity' ELSE now() + $8::bigint * interval '1 microsecond' END,
    job = 0
WHERE r.scope_id = $1::integer AND r.event_id = $2::bytea AND r.state = $9::smallint AND r.token = $3::bytea AND r.job <> 1
RETURNING 1::bigint, r.job`

	moveSQL    = movePlainInput + moveUpdate + moveFrom + moveAnswer
	moveAllSQL = moveInput + moveUpdate + moveChain + moveFrom + moveRest + moveAnswer
)

// What becomes of a kept request.
const (
	jobStays int16 = 0
	jobIsNew int16 = 1
	jobGoes  int16 = 2
)

// Move implements dedupe.Store.
func (s *Store) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	if len(moves) == 0 {
		return nil, nil
	}
	if s.kept.Load() || slices.ContainsFunc(moves, func(m dedupe.Move) bool { return !applies(&m) }) {
		made, kept, err := s.move(ctx, moves, (*transition).statement)
		if err == nil {
			s.kept.Store(kept > 0)
		}
		return made, err
	}
	made, _, err := s.move(ctx, moves, (*transition).apply)
	if err != nil || !slices.Contains(made, false) {
		return made, err
	}
	err = s.moveRest(ctx, moves, made)
	return made, uncertain(err)
}

// moveRest makes the moves that were passed over, if they can be made at all.
func (s *Store) moveRest(ctx context.Context, moves []dedupe.Move, made []bool) error {
	var rest []dedupe.Move
	var at []int
	for i := range moves {
		if !made[i] {
			rest, at = append(rest, moves[i]), append(at, i)
		}
	}
	late, kept, err := s.move(ctx, rest, (*transition).statement)
	if err != nil {
		return err
	}
	for i, is := range late {
		made[at[i]] = is
	}
	if kept > 0 {
		s.kept.Store(true)
	}
	return nil
}

// move makes moves with one statement. It returns which were made, and how many had a kept request.
func (s *Store) move(ctx context.Context, moves []dedupe.Move, statement func(*transition, *statements) (string, []any)) (
	made []bool, kept int, err error,
) {
	ids, err := s.names.intern(ctx, namesOfMoves(moves))
	if err != nil {
		return nil, 0, err
	}
	sql, args := statement(newTransition(moves, ids), &s.sql)
	made = make([]bool, len(moves))
	var n int64
	var job int16
	err = s.run(ctx, call{
		guard: keyGuard, sql: sql, args: args, rows: len(moves),
		begin: func() { kept = 0; clear(made) },
		scan: func(rows pgx.Rows) error {
			if err := rows.Scan(&n, &job); err != nil {
				return err
			}
			made[n-1] = true
			if job != 0 {
				kept++
			}
			return nil
		},
	})
	if err != nil {
		return nil, 0, err
	}
	return made, kept, nil
}

func namesOfMoves(moves []dedupe.Move) []name {
	wanted := make([]name, 0, 3*len(moves))
	for i := range moves {
		wanted = append(wanted, scopeOf(moves[i].Scope), name{kind: reasonName, a: string(moves[i].Reason)})
		if told := moves[i].Evidence; told != nil {
			wanted = append(wanted, name{kind: reasonName, a: string(told.Reason)})
		}
	}
	return wanted
}

package postgres

import (
	"context"
	"slices"
	"time"

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
        $21::integer[], $22::smallint[], $23::bytea[], $24::bytea[])
    WITH ORDINALITY AS m(scope_id, event_id, from_state, from_token, to_state, token, attempt, reason_id, status, head,
        body, wait, on_expiry, job, request, job_wait, told, told_from, told_to, told_attempt, told_reason, told_status,
        told_actor, told_note, n)
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
        job = CASE m.job WHEN 0 THEN r.job WHEN 1 THEN 1 ELSE CASE r.job WHEN 1 THEN 2 ELSE 0 END END
    FROM m
    WHERE r.scope_id = m.scope_id AND r.event_id = m.event_id AND r.state = m.from_state AND r.token = m.from_token
    RETURNING m.n, r.scope_id, r.event_id, r.job
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
    INSERT INTO {schema}.evidence (at, scope_id, reason_id, attempt, from_state, to_state, status, event_id, actor, note)
    SELECT now(), m.scope_id, m.told_reason, m.told_attempt, m.told_from, m.told_to, m.told_status, m.event_id,
        m.told_actor, m.told_note
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

	moveSQL    = movePlainInput + moveUpdate + moveAnswer
	moveAllSQL = moveInput + moveUpdate + moveRest + moveAnswer
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
	err = s.run(ctx, call{
		guard: keyGuard, sql: sql, args: args, rows: len(moves),
		begin: func() { kept = 0; clear(made) },
		scan: func(rows pgx.Rows) error {
			var n int64
			var job int16
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

// transition is a batch of moves as columns.
type transition struct {
	scopes, attempts, reasons                           []int32
	events, fromTokens, tokens, heads, bodies, requests [][]byte
	fromStates, states, statuses, expiries, jobs        []int16
	waits, jobWaits                                     []int64
	told                                                []bool
	toldFrom, toldTo, toldStatus                        []int16
	toldAttempt, toldReason                             []int32
	toldActor, toldNote                                 [][]byte
	rich                                                bool // some move does more than change its row
}

func newTransition(moves []dedupe.Move, ids map[name]int32) *transition {
	t := newTransitionColumns(len(moves))
	for i := range moves {
		t.rich = t.rich || rich(&moves[i])
	}
	for i := range moves {
		t.add(&moves[i], ids)
		if t.rich {
			t.addJob(&moves[i])
			t.addEvidence(moves[i].Evidence, ids)
		}
	}
	return t
}

// newTransitionColumns makes room for the columns that every batch has.
func newTransitionColumns(n int) *transition {
	small, numbers, bytes := make([]int16, 5*n), make([]int32, 3*n), make([][]byte, 5*n)
	short := func(i int) []int16 { return small[i*n : i*n : (i+1)*n] }
	number := func(i int) []int32 { return numbers[i*n : i*n : (i+1)*n] }
	column := func(i int) [][]byte { return bytes[i*n : i*n : (i+1)*n] }
	return &transition{
		scopes: number(0), attempts: number(1), reasons: number(2),
		events: column(0), fromTokens: column(1), tokens: column(2), heads: column(3), bodies: column(4),
		fromStates: short(0), states: short(1), statuses: short(2), expiries: short(3), jobs: short(4),
		waits: make([]int64, 0, n),
	}
}

// rich tells that a move writes evidence or a request, or changes how long one is kept, which only dead events limit.
func rich(m *dedupe.Move) bool {
	return m.Evidence != nil || m.Job != nil || m.JobFor != 0 || m.FromState == dedupe.Dead
}

// applies tells that a move ends a claim with a result, and does nothing else.
func applies(m *dedupe.Move) bool {
	return m.FromState == dedupe.Claimed && m.To == dedupe.Applied && m.Token == m.FromToken && m.Reason == dedupe.NoReason &&
		m.DropJob && !rich(m)
}

func (t *transition) add(m *dedupe.Move, ids map[name]int32) {
	t.scopes = append(t.scopes, ids[scopeOf(m.Scope)])
	t.events = append(t.events, bytesOf(string(m.EventID)))
	t.fromStates = append(t.fromStates, int16(m.FromState))
	t.fromTokens = append(t.fromTokens, m.FromToken[:])
	t.states = append(t.states, int16(m.To))
	t.tokens = append(t.tokens, m.Token[:])
	t.attempts = append(t.attempts, int32(m.Attempt))
	t.reasons = append(t.reasons, ids[name{kind: reasonName, a: string(m.Reason)}])
	t.statuses = append(t.statuses, int16(m.Status))
	t.heads = append(t.heads, packHead(m.Response))
	t.bodies = append(t.bodies, bodyOf(m))
	t.waits = append(t.waits, waitOf(m))
	t.expiries = append(t.expiries, int16(m.OnExpiry))
	t.jobs = append(t.jobs, jobOf(m))
}

func bodyOf(m *dedupe.Move) []byte {
	if m.Response == nil || m.Response.Body == nil {
		return []byte{}
	}
	return m.Response.Body
}

// waitOf is until the new state is due to end, in µs; negative: never.
func waitOf(m *dedupe.Move) int64 {
	switch {
	case m.To == dedupe.Claimed:
		return micros(m.Lease)
	case m.To == dedupe.Queued:
		return micros(max(0, m.After))
	default:
		return orNever(m.Expires)
	}
}

func orNever(d time.Duration) int64 {
	if d == 0 {
		return -1
	}
	return max(0, micros(d))
}

func jobOf(m *dedupe.Move) int16 {
	switch {
	case m.Job != nil:
		return jobIsNew
	case m.DropJob:
		return jobGoes
	default:
		return jobStays
	}
}

func (t *transition) addJob(m *dedupe.Move) {
	var request []byte
	if m.Job != nil {
		request = packJob(m.Job)
	}
	t.requests = append(t.requests, request)
	t.jobWaits = append(t.jobWaits, orNever(m.JobFor))
}

func (t *transition) addEvidence(told *dedupe.Evidence, ids map[name]int32) {
	t.told = append(t.told, told != nil)
	if told == nil {
		told = &dedupe.Evidence{}
	}
	t.toldFrom = append(t.toldFrom, int16(told.From))
	t.toldTo = append(t.toldTo, int16(told.To))
	t.toldAttempt = append(t.toldAttempt, int32(told.Attempt))
	t.toldReason = append(t.toldReason, ids[name{kind: reasonName, a: string(told.Reason)}])
	t.toldStatus = append(t.toldStatus, int16(told.Status))
	t.toldActor = append(t.toldActor, bytesOf(told.Actor))
	t.toldNote = append(t.toldNote, bytesOf(told.Note))
}

// statement is the one for every kind of moves.
func (t *transition) statement(sql *statements) (string, []any) {
	args := []any{t.scopes, t.events, t.fromStates, t.fromTokens, t.states, t.tokens, t.attempts, t.reasons, t.statuses,
		t.heads, t.bodies, t.waits, t.expiries, t.jobs}
	if !t.rich {
		return sql.move, args
	}
	return sql.moveAll, append(args, t.requests, t.jobWaits, t.told, t.toldFrom, t.toldTo, t.toldAttempt, t.toldReason,
		t.toldStatus, t.toldActor, t.toldNote)
}

// apply is the statement for moves that apply. A single row has one of its own, which takes much less time.
func (t *transition) apply(sql *statements) (string, []any) {
	if len(t.events) > 1 {
		return sql.apply, []any{t.scopes, t.events, t.tokens, t.attempts, t.statuses, t.heads, t.bodies, t.waits,
			t.fromStates[0]}
	}
	return sql.applyOne, []any{t.scopes[0], t.events[0], t.tokens[0], t.attempts[0], t.statuses[0], t.heads[0], t.bodies[0],
		t.waits[0], t.fromStates[0]}
}

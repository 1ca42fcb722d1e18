package postgres

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// transition is a batch of moves as columns.
type transition struct {
	scopes, attempts, reasons                           []int32
	events, fromTokens, tokens, heads, bodies, requests [][]byte
	fromStates, states, statuses, expiries, jobs        []int16
	waits, jobWaits                                     []int64
	told                                                []bool
	toldFrom, toldTo, toldStatus                        []int16
	toldAttempt, toldReason                             []int32
	toldActor, toldNote, toldCredential, contents       [][]byte
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
			t.addEvidence(&moves[i], ids)
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

func (t *transition) addEvidence(m *dedupe.Move, ids map[name]int32) {
	told, content := m.Evidence, []byte{}
	t.told = append(t.told, told != nil)
	if told == nil {
		told = &dedupe.Evidence{}
	} else {
		sum := told.Content(m.Key)
		content = sum[:]
	}
	t.contents = append(t.contents, content)
	t.toldFrom = append(t.toldFrom, int16(told.From))
	t.toldTo = append(t.toldTo, int16(told.To))
	t.toldAttempt = append(t.toldAttempt, int32(told.Attempt))
	t.toldReason = append(t.toldReason, ids[name{kind: reasonName, a: string(told.Reason)}])
	t.toldStatus = append(t.toldStatus, int16(told.Status))
	t.toldActor = append(t.toldActor, bytesOf(told.Actor))
	t.toldNote = append(t.toldNote, bytesOf(told.Note))
	t.toldCredential = append(t.toldCredential, bytesOf(told.CredentialID))
}

// statement is the one for every kind of moves.
func (t *transition) statement(sql *statements) (string, []any) {
	args := []any{t.scopes, t.events, t.fromStates, t.fromTokens, t.states, t.tokens, t.attempts, t.reasons, t.statuses,
		t.heads, t.bodies, t.waits, t.expiries, t.jobs}
	if !t.rich {
		return sql.move, args
	}
	return sql.moveAll, append(args, t.requests, t.jobWaits, t.told, t.toldFrom, t.toldTo, t.toldAttempt, t.toldReason,
		t.toldStatus, t.toldActor, t.toldNote, t.toldCredential, t.contents)
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

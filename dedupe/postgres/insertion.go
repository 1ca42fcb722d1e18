package postgres

import (
	"crypto/sha256"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// insertion is a batch as columns.
type insertion struct {
	scopes, origins, reasons, attempts        []int32
	events, prints, bindings, objects, traces [][]byte
	tokens, requests                          [][]byte
	states, expiries                          []int16
	waits                                     []int64
	queued                                    bool // some row is no first claim
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
		request = packJob(row.Job)
	}
	in.requests = append(in.requests, request)
	if row.State == dedupe.Claimed {
		in.attempts, in.waits = append(in.attempts, 1), append(in.waits, micros(row.Lease))
		return
	}
	in.queued = true
	in.attempts, in.waits = append(in.attempts, 0), append(in.waits, 0)
}

// statement is what adds the rows. Most batches of a sidecar that is not busy are a single row, which a statement of its
// own adds in much less time.
func (in *insertion) statement(sql *statements) (string, []any) {
	if len(in.events) == 1 && !in.queued {
		return sql.insertOne, []any{in.scopes[0], in.events[0], in.prints[0], in.bindings[0], in.origins[0], in.objects[0],
			in.traces[0], in.tokens[0], in.waits[0], in.expiries[0]}
	}
	args := []any{in.scopes, in.events, in.prints, in.bindings, in.origins, in.objects, in.traces, in.tokens, in.waits,
		in.expiries}
	if in.queued {
		return sql.insertJob, append(args, in.states, in.reasons, in.attempts, in.requests)
	}
	return sql.insert, args
}

// bindingOf is empty where there is none.
func bindingOf(binding *[sha256.Size]byte) []byte {
	if *binding == ([sha256.Size]byte{}) {
		return []byte{}
	}
	return binding[:]
}

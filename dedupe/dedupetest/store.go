package dedupetest

import (
	"context"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// RunStore runs the contract of dedupe.Backend, below the rules.
func RunStore(t *testing.T, open func(t *testing.T) Harness) {
	for _, part := range []struct {
		name string
		test func(*shelf)
	}{
		{"a new row is as it was given", storeInsert},
		{"an existing row is returned as it is", storeExisting},
		{"a batch is answered in order", storeBatch},
		{"an empty batch does nothing", storeEmpty},
		{"a binding finds its row, the ID first", storeBinding},
		{"inserts at one instant add one row", storeInsertRace},
		{"a move changes what it names", storeMove},
		{"a move that does not match writes nothing", storeMoveMissed},
		{"moves at one instant are made once", storeMoveRace},
		{"a request is kept, replaced and dropped", storeJobs},
		{"reading finds what exists", storeRead},
		{"time is the store's", storeTime},
		{"expired claims are listed, the oldest first", storeExpired},
		{"due jobs are listed, the oldest first", storeDue},
		{"requests are read in batches", storeRequests},
		{"pauses and their ends are kept", storePauses},
		{"forgetting spares what is not over", storeForget},
		{"sweeps at one instant forget everything once", storeForgetRace},
		{"what it takes is measured", storeMeasure},
		{"a context that ended stops a call, not the store", storeContext},
		{"big batches", storeBigBatch},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(newShelf(t, open(t))) })
	}
}

// shelf is a test with one store, and another handle of it.
type shelf struct {
	*testing.T
	ctx         context.Context
	h           Harness
	store, also dedupe.Backend
}

func newShelf(t *testing.T, h Harness) *shelf {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*patient)
	t.Cleanup(cancel)
	s := &shelf{T: t, ctx: ctx, h: h, store: h.Store, also: h.Other}
	if s.also == nil {
		s.also = h.Store
	}
	return s
}

const shelfScope delivery.Scope = "acme/payments"

func newRow(id string) dedupe.NewRow {
	return dedupe.NewRow{
		Key:         dedupe.Key{Scope: shelfScope, EventID: delivery.EventID(id)},
		Fingerprint: delivery.HashParts([]byte(id)), CredentialID: "key-1", EventType: "order.created",
		Object: foreign, Trace: "trace", State: dedupe.Claimed, Token: token(id), Lease: lease, OnExpiry: dedupe.Retryable,
	}
}

func queuedRow(id string) dedupe.NewRow {
	row := newRow(id)
	row.State, row.Lease, row.OnExpiry, row.Job = dedupe.Queued, 0, 0, job(id)
	return row
}

// token is a different one for each text.
func token(text string) dedupe.Token {
	sum := delivery.HashParts([]byte("token"), []byte(text))
	return dedupe.Token(sum[:16])
}

func (s *shelf) insert(rows ...dedupe.NewRow) []dedupe.Found {
	s.Helper()
	found, err := s.store.Insert(s.ctx, rows)
	if err != nil || len(found) != len(rows) {
		s.Fatalf("insert: %d answers, %v", len(found), err)
	}
	return found
}

func (s *shelf) move(moves ...dedupe.Move) []bool {
	s.Helper()
	made, err := s.also.Move(s.ctx, moves)
	if err != nil || len(made) != len(moves) {
		s.Fatalf("move: %d answers, %v", len(made), err)
	}
	return made
}

// row reads a row that must exist.
func (s *shelf) row(id string) dedupe.Row {
	s.Helper()
	rows, err := s.also.Read(s.ctx, []dedupe.Key{newRow(id).Key})
	if err != nil || len(rows) != 1 {
		s.Fatalf("read %s: %d rows, %v", id, len(rows), err)
	}
	return rows[0]
}

func (s *shelf) age(id string, by time.Duration) {
	s.Helper()
	if err := s.h.Age(newRow(id).Key, by); err != nil {
		s.Fatal(err)
	}
}

// from is a move out of a row's claim.
func from(row dedupe.NewRow, to dedupe.State) dedupe.Move {
	return dedupe.Move{
		Key: row.Key, FromState: row.State, FromToken: row.Token, To: to, Token: row.Token, Attempt: 1,
	}
}

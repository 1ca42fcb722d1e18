package dedupetest

import (
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

func storeInsert(s *shelf) {
	claimed, queued := newRow("claimed"), queuedRow("queued")
	claimed.Binding = [32]byte{1}
	for i, found := range s.insert(claimed, queued) {
		if !found.Inserted || found.Row.State != 0 {
			s.Errorf("row %d: %+v", i, found)
		}
	}
	s.sameNew(claimed, s.row("claimed"))
	s.sameNew(queued, s.row("queued"))
}

func (s *shelf) sameNew(want dedupe.NewRow, got dedupe.Row) {
	s.Helper()
	expected := dedupe.Row{
		Key: want.Key, Fingerprint: want.Fingerprint, Binding: want.Binding, CredentialID: want.CredentialID,
		EventType: want.EventType, Object: want.Object, Trace: want.Trace, State: want.State, Token: want.Token,
		Created: got.Created, Changed: got.Created,
	}
	if want.State == dedupe.Claimed {
		expected.Attempt, expected.OnExpiry, expected.LeaseUntil = 1, want.OnExpiry, got.Created.Add(want.Lease)
	} else {
		expected.Reason, expected.NextAttempt, expected.HasJob = dedupe.Accepted, got.Created, true
		expected.OnExpiry = got.OnExpiry
	}
	if got.Created.IsZero() || !reflect.DeepEqual(got, expected) {
		s.Errorf("the row is\n%+v, want\n%+v", got, expected)
	}
}

func storeExisting(s *shelf) {
	first := newRow("evt_1")
	s.insert(first)
	again := newRow("evt_1")
	again.Token, again.Fingerprint, again.Object = token("other"), [32]byte{9}, "other"
	found := s.insert(again)[0]
	if found.Inserted || found.Now.Before(found.Row.Created) || found.Now.After(found.Row.LeaseUntil) {
		s.Errorf("found %+v", found)
	}
	s.sameNew(first, found.Row)
	same := s.insert(first)[0]
	if same.Inserted || same.Row.Token != first.Token {
		s.Errorf("one's own row is not found: %+v", same)
	}
	applied := from(first, dedupe.Applied)
	applied.Response, applied.Status = applyResponse(), 200
	s.move(applied)
	if got := s.insert(again)[0].Row.Response; !reflect.DeepEqual(got, applied.Response) {
		s.Errorf("the response is %+v", got)
	}
}

func storeBatch(s *shelf) {
	s.insert(newRow("b"), newRow("d"))
	found := s.insert(newRow("a"), newRow("b"), newRow("c"), newRow("d"), newRow("e"))
	for i, inserted := range []bool{true, false, true, false, true} {
		if found[i].Inserted != inserted {
			s.Errorf("row %d: inserted %v", i, found[i].Inserted)
		}
	}
	if found[1].Row.EventID != "b" || found[3].Row.EventID != "d" {
		s.Errorf("found %q and %q", found[1].Row.EventID, found[3].Row.EventID)
	}
}

func storeEmpty(s *shelf) {
	s.insert()
	s.move()
	if rows, err := s.store.Read(s.ctx, nil); err != nil || len(rows) != 0 {
		s.Errorf("read %+v, %v", rows, err)
	}
}

func storeBinding(s *shelf) {
	with := func(id string, binding byte) dedupe.NewRow {
		row := newRow(id)
		row.Binding = [32]byte{binding}
		return row
	}
	found := s.insert(with("a", 1), with("b", 1), with("c", 2))
	if !found[0].Inserted || found[1].Inserted || found[1].Row.EventID != "a" || !found[2].Inserted {
		s.Errorf("one batch: %+v", found)
	}
	if got := s.insert(with("c", 1))[0]; got.Inserted || got.Row.EventID != "c" {
		s.Errorf("the ID does not come first: %+v", got)
	}
	if got := s.insert(with("d", 2))[0]; got.Inserted || got.Row.EventID != "c" {
		s.Errorf("the binding does not find its row: %+v", got)
	}
	elsewhere := with("d", 2)
	elsewhere.Scope = "acme/elsewhere"
	for _, found := range s.insert(elsewhere, with("e", 0), with("f", 0)) {
		if !found.Inserted {
			s.Errorf("bound across scopes, or without a binding: %+v", found)
		}
	}
}

func storeInsertRace(s *shelf) {
	for round := range manyRounds(50) {
		const racers = 8
		var inserted [racers]bool
		var errs [racers]error
		var running sync.WaitGroup
		for i := range racers {
			// Half of them race for an ID, all for a binding.
			row := newRow(name("evt_", round, "_", i/2))
			row.Binding, row.Token = [32]byte{1, byte(round)}, token(name(round, i))
			running.Go(func() {
				var found []dedupe.Found
				if found, errs[i] = []dedupe.Backend{s.store, s.also}[i%2].Insert(s.ctx, []dedupe.NewRow{row}); errs[i] == nil {
					inserted[i] = found[0].Inserted
				}
			})
		}
		running.Wait()
		s.once("inserted", inserted[:], errs[:])
	}
}

// once expects one success. A store may answer a racer with ErrBatch, which asks it to try again.
func (s *shelf) once(what string, did []bool, errs []error) {
	s.Helper()
	count := 0
	for i, err := range errs {
		if err != nil && !errors.Is(err, dedupe.ErrBatch) {
			s.Fatal(err)
		}
		if did[i] {
			count++
		}
	}
	if count != 1 {
		s.Fatalf("%s %d times", what, count)
	}
}

func storeTime(s *shelf) {
	s.insert(newRow("evt_1"))
	before := s.row("evt_1")
	s.age("evt_1", time.Hour)
	after := s.row("evt_1")
	if before.Created.Sub(after.Created) != time.Hour || before.LeaseUntil.Sub(after.LeaseUntil) != time.Hour {
		s.Fatalf("aged %+v to %+v", before, after)
	}
	s.insert(newRow("evt_2"))
	found := s.insert(newRow("evt_1"), newRow("evt_2"))
	if found[0].Now.Sub(found[0].Row.LeaseUntil) <= 0 || found[1].Now.Sub(found[1].Row.LeaseUntil) > 0 {
		s.Errorf("found %+v", found)
	}
	if lag := found[0].Now.Sub(found[1].Row.Created); lag < 0 || lag > patient {
		s.Errorf("the store's clock moved by %v", lag)
	}
}

func storeBigBatch(s *shelf) {
	var rows []dedupe.NewRow
	for i := range 256 {
		rows = append(rows, newRow(name("evt_", 1000+i)))
	}
	for i, found := range s.insert(rows...) {
		if !found.Inserted {
			s.Fatalf("row %d: %+v", i, found)
		}
	}
	var moves []dedupe.Move
	for _, row := range rows {
		move := from(row, dedupe.Applied)
		move.Response, move.Status = applyResponse(), 200
		moves = append(moves, move)
	}
	for i, made := range s.move(moves...) {
		if !made {
			s.Fatalf("move %d", i)
		}
	}
	for i, found := range s.insert(rows...) {
		if found.Inserted || found.Row.Key != rows[i].Key || found.Row.State != dedupe.Applied {
			s.Fatalf("row %d: %+v", i, found)
		}
	}
}

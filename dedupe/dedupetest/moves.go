package dedupetest

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func applyResponse() *delivery.Response {
	return &delivery.Response{
		Status: 200, Header: map[string][]string{"Content-Type": {foreign}, "Etag": {"1", ""}}, Body: []byte(foreign),
	}
}

// storeMove walks one row through every state and compares all of it each time.
func storeMove(s *shelf) {
	row := newRow("evt_1")
	row.Binding = [32]byte{7}
	s.insert(row)
	want := s.row("evt_1")
	at := row.Token
	for i, m := range []dedupe.Move{
		{To: dedupe.Retryable, Reason: dedupe.NotFinal, Status: 503, Attempt: 1, Expires: time.Hour, Evidence: &dedupe.Evidence{
			From: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.NotFinal, Status: 503, Actor: "a", Note: foreign}},
		{To: dedupe.Claimed, Token: token("2"), Attempt: 2, Lease: lease, OnExpiry: dedupe.Dead},
		{To: dedupe.Claimed, Token: token("3"), Attempt: 3, Lease: 2 * lease, OnExpiry: dedupe.Retryable},
		{To: dedupe.Queued, Reason: dedupe.NotFinal, Status: 500, Attempt: 3, After: time.Minute, Job: job("q")},
		{To: dedupe.Claimed, Token: token("4"), Attempt: 4, Lease: lease, OnExpiry: dedupe.Queued},
		{To: dedupe.Dead, Reason: dedupe.Rejected, Status: 410, Attempt: 4, JobFor: time.Hour},
		{To: dedupe.Queued, Reason: dedupe.Replayed, Attempt: 4},
		{To: dedupe.Claimed, Token: token("5"), Attempt: 5, Lease: lease, OnExpiry: dedupe.Dead},
		{To: dedupe.Applied, Status: 200, Attempt: 5, Response: applyResponse(), Expires: time.Hour, DropJob: true},
		{To: dedupe.Retryable, Reason: dedupe.Reopened, Attempt: 5, Expires: time.Hour},
		{To: dedupe.Claimed, Token: token("6"), Attempt: 6, Lease: lease, OnExpiry: dedupe.Dead},
		{To: dedupe.Dead, Reason: dedupe.MaxAge, Attempt: 6, Job: job("d"), JobFor: time.Hour},
		{To: dedupe.Closed, Reason: dedupe.ClosedByHand, Status: 202, Attempt: 6, Expires: time.Hour, DropJob: true},
	} {
		m.Key, m.FromState, m.FromToken = row.Key, want.State, at
		if m.Token == (dedupe.Token{}) {
			m.Token = at
		}
		if !s.move(m)[0] {
			s.Fatalf("move %d was not made", i)
		}
		at = m.Token
		got := s.row("evt_1")
		want = moved(want, m, got)
		if !reflect.DeepEqual(got, want) {
			s.Fatalf("move %d made\n%+v, want\n%+v", i, got, want)
		}
	}
	evidence, _, err := s.store.Evidence(s.ctx, row.Key)
	if err != nil || len(evidence) != 1 || evidence[0].Note != foreign || evidence[0].At.IsZero() {
		s.Errorf("evidence is %+v, %v", evidence, err)
	}
}

// moved is a row after a move, by the time at which the store says that it was made.
func moved(row dedupe.Row, m dedupe.Move, got dedupe.Row) dedupe.Row {
	row.State, row.Token, row.Attempt, row.Reason, row.Status, row.Response = m.To, m.Token, m.Attempt, m.Reason, m.Status, m.Response
	row.Changed, row.OnExpiry = got.Changed, got.OnExpiry
	row.LeaseUntil, row.NextAttempt, row.Expires = got.LeaseUntil, got.NextAttempt, time.Time{}
	if m.To == dedupe.Claimed {
		row.LeaseUntil, row.OnExpiry = row.Changed.Add(m.Lease), m.OnExpiry
	}
	if m.To == dedupe.Queued {
		row.NextAttempt = row.Changed.Add(m.After)
	}
	if m.Expires > 0 {
		row.Expires = row.Changed.Add(m.Expires)
	}
	row.HasJob = !m.DropJob && (row.HasJob || m.Job != nil)
	return row
}

func storeMoveMissed(s *shelf) {
	row := newRow("evt_1")
	s.insert(row)
	before := s.row("evt_1")
	full := func(m dedupe.Move) dedupe.Move {
		m.Reason, m.Response, m.Status, m.Job = dedupe.NotFinal, applyResponse(), 200, job("q")
		m.Evidence = &dedupe.Evidence{From: m.FromState, To: m.To, Actor: "a"}
		return m
	}
	state, fence, nobody := full(from(row, dedupe.Applied)), full(from(row, dedupe.Applied)), full(from(newRow("evt_2"), dedupe.Applied))
	state.FromState = dedupe.Retryable
	fence.FromToken[15]++
	for i, m := range []dedupe.Move{state, fence, nobody} {
		if s.move(m)[0] {
			s.Errorf("move %d was made", i)
		}
	}
	if after := s.row("evt_1"); !reflect.DeepEqual(before, after) {
		s.Errorf("the row is now %+v", after)
	}
	for _, key := range []dedupe.Key{row.Key, nobody.Key} {
		if evidence, _, err := s.store.Evidence(s.ctx, key); err != nil || len(evidence) != 0 {
			s.Errorf("evidence is %+v, %v", evidence, err)
		}
		if kept, err := s.store.Job(s.ctx, key); err != dedupe.ErrNotFound {
			s.Errorf("kept %+v, %v", kept, err)
		}
	}
	s.insert(newRow("evt_3"), newRow("evt_4"))
	made := s.move(full(from(newRow("evt_2"), dedupe.Dead)), full(from(newRow("evt_3"), dedupe.Retryable)), full(from(newRow("evt_4"), dedupe.Dead)))
	if !reflect.DeepEqual(made, []bool{false, true, true}) {
		s.Errorf("made %v", made)
	}
	if s.row("evt_3").State != dedupe.Retryable || s.row("evt_4").State != dedupe.Dead {
		s.Error("the moves of a batch went to other rows")
	}
}

func storeMoveRace(s *shelf) {
	for round := range manyRounds(50) {
		row := newRow(name("evt_", round))
		s.insert(row)
		const racers = 8
		var made [racers]bool
		var errs [racers]error
		var running sync.WaitGroup
		for i := range racers {
			m := from(row, dedupe.Claimed)
			m.Token, m.Attempt, m.Lease, m.OnExpiry = token(name(round, i)), 2, lease, dedupe.Retryable
			m.Evidence = &dedupe.Evidence{From: dedupe.Claimed, To: dedupe.Claimed, Attempt: 1, Reason: dedupe.LeaseExpired, Actor: "a"}
			running.Go(func() {
				var answers []bool
				if answers, errs[i] = []dedupe.Backend{s.store, s.also}[i%2].Move(s.ctx, []dedupe.Move{m}); errs[i] == nil {
					made[i] = answers[0]
				}
			})
		}
		running.Wait()
		s.once("moved", made[:], errs[:])
		if evidence, _, err := s.store.Evidence(s.ctx, row.Key); err != nil || len(evidence) != 1 {
			s.Fatalf("evidence is %+v, %v", evidence, err)
		}
	}
}

func storeRead(s *shelf) {
	s.insert(newRow("a"), newRow("c"))
	rows, err := s.store.Read(s.ctx, []dedupe.Key{newRow("a").Key, newRow("b").Key, newRow("c").Key})
	if err != nil || len(rows) != 2 {
		s.Fatalf("read %+v, %v", rows, err)
	}
	if ids := map[delivery.EventID]bool{rows[0].EventID: true, rows[1].EventID: true}; !ids["a"] || !ids["c"] {
		s.Errorf("read %v", ids)
	}
	elsewhere := newRow("a").Key
	elsewhere.Scope = "acme/elsewhere"
	if rows, err = s.store.Read(s.ctx, []dedupe.Key{elsewhere}); err != nil || len(rows) != 0 {
		s.Errorf("read %+v, %v", rows, err)
	}
}

func storeContext(s *shelf) {
	ended, cancel := context.WithCancel(s.ctx)
	cancel()
	if found, err := s.store.Insert(ended, []dedupe.NewRow{newRow("a")}); err == nil {
		s.Errorf("inserted %+v", found)
	}
	s.insert(newRow("b"))
	if made, err := s.store.Move(ended, []dedupe.Move{from(newRow("b"), dedupe.Dead)}); err == nil {
		s.Errorf("moved %+v", made)
	}
	if !s.move(from(newRow("b"), dedupe.Dead))[0] {
		s.Error("the store does not work any more")
	}
}

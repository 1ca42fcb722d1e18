package dedupetest

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func storeJobs(s *shelf) {
	row := queuedRow("evt_1")
	s.insert(row)
	s.kept("evt_1", row.Job)
	if _, err := s.store.Job(s.ctx, newRow("nobody").Key); !errors.Is(err, dedupe.ErrNotFound) {
		s.Errorf("the job of nobody: %v", err)
	}
	second := from(row, dedupe.Dead)
	second.Job, second.JobFor = job(foreign), time.Hour
	s.move(second)
	s.kept("evt_1", second.Job)
	third := from(row, dedupe.Closed)
	third.FromState, third.DropJob = dedupe.Dead, true
	s.move(third)
	if _, err := s.store.Job(s.ctx, row.Key); !errors.Is(err, dedupe.ErrNotFound) {
		s.Errorf("a dropped job: %v", err)
	}
	empty := queuedRow("evt_2")
	empty.Job = &dedupe.Job{Method: "GET", Target: "/", Header: map[string][]string{}}
	s.insert(empty)
	got, err := s.store.Job(s.ctx, empty.Key)
	if err != nil || got.Method != "GET" || len(got.Body) != 0 || len(got.Header) != 0 {
		s.Errorf("an empty request is kept as %+v, %v", got, err)
	}
}

func (s *shelf) kept(id string, want *dedupe.Job) {
	s.Helper()
	if got, err := s.also.Job(s.ctx, newRow(id).Key); err != nil || !reflect.DeepEqual(got, want) {
		s.Errorf("%s: kept %+v, %v", id, got, err)
	}
}

func storeExpired(s *shelf) {
	for i, id := range []string{"c", "a", "b", "fresh"} {
		s.insert(newRow(id))
		s.age(id, []time.Duration{lease + 3*time.Minute, lease + 5*time.Minute, lease + time.Minute, 0}[i])
	}
	s.insert(queuedRow("queued"))
	s.age("queued", time.Hour)
	s.insert(newRow("retryable"))
	s.move(from(newRow("retryable"), dedupe.Retryable))
	s.age("retryable", time.Hour)
	s.expired(0, 10, "a", "c", "b")
	s.expired(2*time.Minute, 10, "a", "c")
	s.expired(0, 2, "a", "c")
	s.expired(time.Hour, 10)
}

func (s *shelf) expired(grace time.Duration, limit int, want ...delivery.EventID) {
	s.Helper()
	rows, err := s.store.Expired(s.ctx, grace, limit)
	if err != nil || !sameIDs(rows, want) {
		s.Errorf("expired by %v: %+v, %v", grace, rows, err)
	}
}

func sameIDs(rows []dedupe.Row, want []delivery.EventID) bool {
	if len(rows) != len(want) {
		return false
	}
	for i := range rows {
		if rows[i].EventID != want[i] {
			return false
		}
	}
	return true
}

func storeDue(s *shelf) {
	for i, id := range []string{"b", "a", "c"} {
		s.insert(queuedRow(id))
		s.age(id, []time.Duration{time.Minute, time.Hour, time.Second}[i])
	}
	later := queuedRow("later")
	s.insert(later)
	wait := from(later, dedupe.Queued)
	wait.After = time.Hour
	s.move(wait)
	s.insert(newRow("claimed"))
	for _, id := range []string{"other_1", "other_2"} {
		other := queuedRow(id)
		other.Scope = "acme/elsewhere"
		s.insert(other)
	}
	for _, each := range []struct {
		scopes []delivery.Scope
		limit  int
		want   []delivery.EventID
	}{
		{[]delivery.Scope{shelfScope}, 10, []delivery.EventID{"a", "b", "c"}},
		{[]delivery.Scope{shelfScope}, 2, []delivery.EventID{"a", "b"}},
		{[]delivery.Scope{"acme/elsewhere", "acme/nobody"}, 10, []delivery.EventID{"other_1", "other_2"}},
		{[]delivery.Scope{"acme/elsewhere", shelfScope}, 10, []delivery.EventID{"a", "b", "c", "other_1", "other_2"}},
		{[]delivery.Scope{"acme/elsewhere", shelfScope}, 1, []delivery.EventID{"a", "other_1"}}, // of each scope
		{[]delivery.Scope{"acme/nobody"}, 10, nil},
		{nil, 10, nil},
	} {
		due, err := s.store.Due(s.ctx, each.scopes, each.limit)
		if err != nil || !sameIDs(due.Rows, each.want) || len(due.Held) != 0 {
			s.Errorf("due in %v: %+v, %v", each.scopes, due, err)
		}
		for _, row := range due.Rows {
			if !row.HasJob || row.NextAttempt.After(due.Now) {
				s.Errorf("due in %v at %v: %+v", each.scopes, due.Now, row)
			}
		}
	}
}

func storeRequests(s *shelf) {
	for _, id := range []string{"a", "b"} {
		row := queuedRow(id)
		row.Job = job(id + foreign)
		s.insert(row)
	}
	s.insert(newRow("none"))
	keys := []dedupe.Key{newRow("b").Key, newRow("none").Key, newRow("nobody").Key, newRow("a").Key}
	got, err := s.also.Requests(s.ctx, keys)
	want := []*dedupe.Job{job("b" + foreign), nil, nil, job("a" + foreign)}
	if err != nil || !reflect.DeepEqual(got, want) {
		s.Errorf("requests are %+v, %v", got, err)
	}
	if got, err := s.also.Requests(s.ctx, nil); err != nil || len(got) != 0 {
		s.Errorf("no requests are %+v, %v", got, err)
	}
}

// storePauses: the last act of a scope says whether it is held, every act is kept, and one that changes nothing is none.
func storePauses(s *shelf) {
	const other = delivery.Scope("acme/elsewhere")
	pause := func(scope delivery.Scope, paused, changes bool) {
		s.Helper()
		made, err := s.store.SetPaused(s.ctx, scope, paused, dedupe.Act{Actor: "ada " + foreign, Reason: "why " + foreign})
		if err != nil || made != changes {
			s.Errorf("%s paused %t: %t, %v", scope, paused, made, err)
		}
	}
	s.held()
	pause(shelfScope, false, false)
	pause(shelfScope, true, true)
	pause(shelfScope, true, false)
	s.held(shelfScope)
	pause(other, true, true)
	s.held(other, shelfScope)
	pause(shelfScope, false, true)
	s.held(other)
	acts, err := s.also.PauseActs(s.ctx)
	if err != nil || len(acts) != 3 {
		s.Fatalf("acts are %+v, %v", acts, err)
	}
	for i, want := range []dedupe.PauseAct{
		{Scope: shelfScope, Paused: true}, {Scope: other, Paused: true}, {Scope: shelfScope, Paused: false},
	} {
		want.Act = dedupe.Act{Actor: "ada " + foreign, Reason: "why " + foreign}
		if acts[i].At.IsZero() || i > 0 && acts[i].At.Before(acts[i-1].At) {
			s.Errorf("act %d is of %v", i, acts[i].At)
		}
		if acts[i].At = (time.Time{}); acts[i] != want {
			s.Errorf("act %d is %+v", i, acts[i])
		}
	}
}

// held expects these scopes in every answer, whichever scopes were asked for.
func (s *shelf) held(want ...delivery.Scope) {
	s.Helper()
	for _, asked := range [][]delivery.Scope{nil, {shelfScope}, {"acme/nobody"}} {
		due, err := s.also.Due(s.ctx, asked, 10)
		if slices.Sort(due.Held); err != nil || !slices.Equal(due.Held, want) {
			s.Errorf("held are %v, %v; want %v", due.Held, err, want)
		}
	}
}

func storeForget(s *shelf) {
	over := map[string]dedupe.State{
		"applied": dedupe.Applied, "retryable": dedupe.Retryable, "closed": dedupe.Closed, "claimed": dedupe.Claimed, "queued": dedupe.Queued,
	}
	for id, state := range over {
		s.insert(newRow(id))
		m := from(newRow(id), state)
		m.Expires, m.Lease, m.Job = time.Hour, lease, job(id)
		m.Evidence = &dedupe.Evidence{From: dedupe.Claimed, To: state, Actor: "a"}
		s.move(m)
	}
	s.insert(newRow("never"))
	s.move(from(newRow("never"), dedupe.Applied))
	s.age("never", 10000*time.Hour)
	s.forget(10, 0, 0)
	for id := range over {
		s.age(id, 2*time.Hour)
	}
	s.forget(2, 2, 0)
	s.forget(2, 1, 0)
	s.forget(2, 0, 0)
	for _, id := range []string{"claimed", "queued", "never"} {
		s.row(id)
	}
	for _, id := range []string{"claimed", "queued"} {
		s.kept(id, job(id))
	}
	if evidence, _, err := s.store.Evidence(s.ctx, newRow("applied").Key); err != nil || len(evidence) != 0 {
		s.Errorf("evidence is %+v, %v", evidence, err)
	}
	s.forgetJobs()
}

// storeForgetRace: two processes that forget at the same time share the receipts and the kept requests between them, and
// neither fails.
func storeForgetRace(s *shelf) {
	const receipts, requests, limit = 90, 30, 10
	for i := range receipts + requests {
		id, to := name("evt_", i), dedupe.Applied
		if i >= receipts {
			to = dedupe.Dead
		}
		s.insert(newRow(id))
		m := from(newRow(id), to)
		if m.Expires = time.Hour; to == dedupe.Dead {
			m.Expires, m.Job, m.JobFor = 0, job(id), time.Hour
		}
		m.Evidence = &dedupe.Evidence{From: dedupe.Claimed, To: to, Actor: "a"}
		s.move(m)
		s.age(id, 2*time.Hour)
	}
	var gone, goneJobs atomic.Int64
	var group sync.WaitGroup
	for _, store := range []dedupe.Backend{s.store, s.also, s.store} {
		group.Go(func() {
			for more := true; more; {
				n, jobs, err := store.Forget(s.ctx, limit)
				if err != nil || n > limit || jobs > limit {
					s.Errorf("forgot %d and %d: %v", n, jobs, err)
				}
				gone.Add(int64(n))
				goneJobs.Add(int64(jobs))
				more = n > 0 || jobs > 0
			}
		})
	}
	group.Wait()
	if gone.Load() != receipts || goneJobs.Load() != requests {
		s.Errorf("forgot %d receipts and %d requests, want %d and %d", gone.Load(), goneJobs.Load(), receipts, requests)
	}
	for i := range receipts + requests {
		s.wholly(newRow(name("evt_", i)).Key, i >= receipts)
	}
}

// wholly expects everything of an event, but for its request, or nothing.
func (s *shelf) wholly(key dedupe.Key, there bool) {
	s.Helper()
	rows, err := s.store.Read(s.ctx, []dedupe.Key{key})
	if err != nil || len(rows) == 1 != there {
		s.Errorf("%s: %d rows, %v", key.EventID, len(rows), err)
	}
	evidence, _, err := s.store.Evidence(s.ctx, key)
	if err != nil || len(evidence) == 1 != there {
		s.Errorf("%s: evidence %+v, %v", key.EventID, evidence, err)
	}
	if kept, err := s.store.Job(s.ctx, key); !errors.Is(err, dedupe.ErrNotFound) || there && rows[0].HasJob {
		s.Errorf("%s: kept %+v, %v", key.EventID, kept, err)
	}
}

// forgetJobs: the kept requests of dead events go, one batch at a time, and their receipts stay.
func (s *shelf) forgetJobs() {
	s.Helper()
	for _, id := range []string{"dead_1", "dead_2", "dead_3"} {
		s.insert(newRow(id))
		m := from(newRow(id), dedupe.Dead)
		m.Job, m.JobFor = job(id), time.Hour
		s.move(m)
		s.age(id, 2*time.Hour)
	}
	revived := from(newRow("dead_3"), dedupe.Queued)
	revived.FromState = dedupe.Dead
	s.move(revived)
	s.forget(1, 0, 1)
	s.forget(1, 0, 1)
	s.forget(1, 0, 0)
	late := from(newRow("dead_1"), dedupe.Queued)
	late.FromState = dedupe.Dead
	if made := s.move(late); made[0] {
		s.Error("an event is queued by somebody who still saw its request")
	}
	if s.row("dead_1").HasJob || s.row("dead_2").HasJob || !s.row("dead_3").HasJob {
		s.Error("the wrong requests are forgotten")
	}
	s.kept("dead_3", job("dead_3"))
}

func (s *shelf) forget(limit, receipts, jobs int) {
	s.Helper()
	gotReceipts, gotJobs, err := s.store.Forget(s.ctx, limit)
	if err != nil || gotReceipts != receipts || gotJobs != jobs {
		s.Errorf("forgot %d receipts and %d jobs, want %d and %d (%v)", gotReceipts, gotJobs, receipts, jobs, err)
	}
}

package dedupetest

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// workPolicy is accept mode as it is by default.
func workPolicy() dedupe.Policy {
	p := policy()
	p.OnFailure = dedupe.Queue
	p.Retry = dedupe.Limit{MaxAttempts: 200, MaxAge: 72 * time.Hour}
	p.Backoff.Jitter = func() float64 { return 0 }
	p.Record.Rejected = func(status int) bool { return status == 422 }
	return p
}

func (b *bench) accept(r dedupe.Request) {
	b.Helper()
	if got := b.expect(b.a, r, dedupe.AlreadyQueued); !got.First {
		b.Fatalf("%s is not new: %+v", r.EventID, got)
	}
}

func quota(scope delivery.Scope, most int) dedupe.Quota {
	return dedupe.Quota{Scope: scope, Most: most, Policy: workPolicy()}
}

func (b *bench) take(by replica, most int, quotas ...dedupe.Quota) dedupe.Taken {
	b.Helper()
	taken, err := by.worker.Take(b.ctx, quotas, most)
	if err != nil {
		b.Fatalf("take: %v", err)
	}
	return taken
}

// takeOne expects exactly this job.
func (b *bench) takeOne(by replica, r dedupe.Request, attempt int) dedupe.Work {
	b.Helper()
	taken := b.take(by, 10, quota(r.Scope, 10))
	if len(taken.Works) != 1 {
		b.Fatalf("taken %d works, want %s", len(taken.Works), r.EventID)
	}
	work := taken.Works[0]
	if work.Claim.EventID != r.EventID || work.Claim.Attempt != attempt {
		b.Fatalf("taken %s, attempt %d; want %s, attempt %d", work.Claim.EventID, work.Claim.Attempt, r.EventID, attempt)
	}
	return work
}

func (b *bench) takeNone(by replica, quotas ...dedupe.Quota) {
	b.Helper()
	if taken := b.take(by, 10, quotas...); len(taken.Works) != 0 || taken.More {
		b.Fatalf("taken %+v", taken)
	}
}

// settleWork records a result as the worker does.
func (b *bench) settleWork(by replica, w dedupe.Work, result delivery.Result) dedupe.Settlement {
	b.Helper()
	s := w.Policy.Settle(w.Claim, result, 0, nil)
	b.settle(by, w.Claim, s)
	return s
}

func testTake(b *bench) {
	r := accepted("evt_1", foreign)
	b.accept(r)
	b.age(r, time.Minute)
	w := b.takeOne(b.b, r, 1)
	if !reflect.DeepEqual(w.Job, r.Job()) || w.EventType != r.EventType || w.CredentialID != r.CredentialID ||
		w.Claim.Trace != r.Trace || w.Claim.Age < time.Minute || w.Waited < time.Minute || w.Taken.IsZero() {
		b.Errorf("work is %+v", w)
	}
	got := b.state(r, dedupe.Claimed, dedupe.NoReason)
	if got.Attempts != 1 || !got.HasJob || got.LeaseUntil.Sub(got.Changed) != lease || len(got.Evidence) != 0 {
		b.Errorf("receipt is %+v", got)
	}
	b.takeNone(b.a, quota(r.Scope, 10))
	b.expect(b.a, r, dedupe.AlreadyQueued) // acknowledged, whoever is at it
	b.settleWork(b.b, w, answer(503, "later"))
	b.state(r, dedupe.Queued, dedupe.NotFinal)
	w = b.takeOne(b.a, r, 2)
	b.settleWork(b.a, w, answer(200, "done"))
	if got := b.state(r, dedupe.Applied, dedupe.NoReason); got.HasJob || got.Attempts != 2 {
		b.Errorf("receipt is %+v", got)
	}
	b.expect(b.b, r, dedupe.Replay)
	b.takeNone(b.a, quota(r.Scope, 10))
}

func testTakeLimits(b *bench) {
	b.policy = workPolicy()
	b.policy.Retry.MaxAttempts = 2
	r := accepted("evt_1", "a")
	r.Policy = b.policy
	b.accept(r)
	limited := dedupe.Quota{Scope: r.Scope, Most: 5, Policy: b.policy}
	for attempt := range 2 {
		taken := b.take(b.a, 5, limited)
		if len(taken.Works) != 1 {
			b.Fatalf("attempt %d: taken %+v", attempt, taken)
		}
		b.settleWork(b.a, taken.Works[0], answer(500, "no"))
	}
	if got := b.state(r, dedupe.Dead, dedupe.MaxAttempts); got.Status != 500 || !got.HasJob {
		b.Errorf("receipt is %+v", got)
	}
	b.takeNone(b.a, limited)

	away := accepted("away", "a")
	away.Policy = b.policy
	b.accept(away)
	for range 5 { // what is not sent does not count
		taken := b.take(b.a, 5, limited)
		b.settleWork(b.a, taken.Works[0], delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable})
		if got := b.state(away, dedupe.Queued, dedupe.Unreachable); got.Attempts != 0 {
			b.Fatalf("%d attempts", got.Attempts)
		}
		b.age(away, time.Hour)
	}
	b.age(away, 72*time.Hour)
	b.settleWork(b.a, b.take(b.a, 5, limited).Works[0], delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable})
	b.state(away, dedupe.Dead, dedupe.MaxAge)
}

func testTakeFair(b *bench) {
	scopes := []delivery.Scope{"flood/a", "calm/b", "calm/c"}
	for i, jobs := range []int{20, 2, 1} {
		for n := range jobs {
			r := accepted(name("evt_", n), "a")
			r.Scope = scopes[i]
			b.accept(r)
			b.age(r, time.Duration(3-i)*time.Minute) // the flood came first
		}
	}
	taken := b.take(b.a, 6, quota(scopes[0], 50), quota(scopes[1], 50), quota(scopes[2], 50), quota("nobody/d", 50))
	counts := map[delivery.Scope]int{}
	for _, w := range taken.Works {
		counts[w.Claim.Scope]++
	}
	if !reflect.DeepEqual(counts, map[delivery.Scope]int{scopes[0]: 3, scopes[1]: 2, scopes[2]: 1}) || !taken.More {
		b.Errorf("taken %v, more %t", counts, taken.More)
	}
	if taken := b.take(b.a, 6, quota(scopes[0], 2)); len(taken.Works) != 2 || !taken.More {
		b.Errorf("taken %+v", taken)
	}
	b.takeNone(b.a, quota(scopes[0], 0), quota(scopes[1], 50))
	if taken := b.take(b.a, 100, quota(scopes[0], 100)); len(taken.Works) != 15 || taken.More {
		b.Errorf("taken %d, more %t", len(taken.Works), taken.More)
	}
	b.takeNone(b.a)
}

// testTakeRoom takes jobs as long as their bodies fit: a scope whose next one does not is passed over, and the others go on.
func testTakeRoom(b *bench) {
	scopes := []delivery.Scope{"large/a", "small/b", "none/c"}
	for _, scope := range scopes[:2] {
		for n := range 5 {
			r := accepted(name("evt_", n), "a")
			r.Scope = scope
			b.accept(r)
		}
	}
	quotas := []dedupe.Quota{quota(scopes[2], 50), quota(scopes[0], 50), quota(scopes[1], 50)}
	quotas[0].Size, quotas[0].Free = 12, 12 // a scope without jobs takes no room
	quotas[1].Size, quotas[1].Free = 4, 9
	quotas[2].Size, quotas[2].Free = 1, 12
	taken := b.take(b.a, 50, quotas...)
	counts := map[delivery.Scope]int{}
	for _, w := range taken.Works {
		counts[w.Claim.Scope]++
	}
	if !reflect.DeepEqual(counts, map[delivery.Scope]int{scopes[0]: 2, scopes[1]: 4}) || !taken.More {
		b.Errorf("taken %v, more %t", counts, taken.More)
	}
}

// testTakeShared lets two replicas, each with several takers, drain one backlog.
func testTakeShared(b *bench) {
	const jobs = 200
	want := map[delivery.EventID]bool{}
	for i := range jobs {
		r := accepted(name("evt_", i), "a")
		b.accept(r)
		want[r.EventID] = true
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	for i := range 4 {
		by := []replica{b.a, b.b}[i%2]
		running.Go(func() {
			for {
				taken, err := by.worker.Take(b.ctx, []dedupe.Quota{quota("acme/payments", 7)}, 7)
				if err != nil {
					b.Errorf("take: %v", err)
				}
				for _, w := range taken.Works {
					mu.Lock()
					if !want[w.Claim.EventID] {
						b.Errorf("%s is taken twice", w.Claim.EventID)
					}
					delete(want, w.Claim.EventID)
					mu.Unlock()
					if err := by.Settle(b.ctx, w.Claim, w.Policy.Settle(w.Claim, answer(200, ""), 0, nil)); err != nil {
						b.Errorf("settle: %v", err)
					}
				}
				if err != nil || len(taken.Works) == 0 && !taken.More {
					return
				}
			}
		})
	}
	running.Wait()
	if len(want) != 0 {
		b.Errorf("%d jobs are left", len(want))
	}
}

func testTakeExpired(b *bench) {
	b.policy = workPolicy()
	r := accepted("evt_1", foreign)
	b.accept(r)
	first := b.takeOne(b.a, r, 1)
	b.expire(r)
	b.expect(b.b, r, dedupe.AlreadyQueued) // an expired claim of a job is the sweeper's
	b.takeNone(b.b, quota(r.Scope, 10))
	if swept := b.sweep(); swept.Expired != 1 {
		b.Errorf("swept %+v", swept)
	}
	got := b.state(r, dedupe.Queued, dedupe.LeaseExpired)
	if len(got.Evidence) != 1 || got.Evidence[0].To != dedupe.Queued || got.Evidence[0].Attempt != 1 {
		b.Errorf("evidence is %+v", got.Evidence)
	}
	b.lost(b.a, first.Claim, first.Policy.Settle(first.Claim, answer(200, "late"), 0, nil))
	second := b.takeOne(b.b, r, 2)
	if !reflect.DeepEqual(second.Job, r.Job()) {
		b.Errorf("job is %+v", second.Job)
	}
	b.lost(b.a, first.Claim, first.Policy.Settle(first.Claim, answer(200, "late"), 0, nil))
	b.settleWork(b.b, second, answer(200, "second"))
	if got := b.expect(b.a, r, dedupe.Replay); string(got.Response.Body) != "second" {
		b.Errorf("replayed %q", got.Response.Body)
	}
	doubtful := accepted("doubtful", "a")
	b.accept(doubtful)
	b.policy.InDoubt = dedupe.Quarantine
	b.take(b.a, 1, dedupe.Quota{Scope: doubtful.Scope, Most: 1, Policy: b.policy})
	b.expire(doubtful)
	b.sweep()
	if got := b.state(doubtful, dedupe.Dead, dedupe.Quarantined); !got.HasJob {
		b.Errorf("receipt is %+v", got)
	}
}

func testTakeKiller(b *bench) {
	b.policy = workPolicy()
	b.policy.Retry.MaxAttempts = 3
	r := accepted("evt_1", "a")
	b.accept(r)
	for attempt := 1; attempt <= 3; attempt++ {
		taken := b.take(b.a, 1, dedupe.Quota{Scope: r.Scope, Most: 1, Policy: b.policy})
		if len(taken.Works) != 1 || taken.Works[0].Claim.Attempt != attempt {
			b.Fatalf("attempt %d: taken %+v", attempt, taken)
		}
		b.expire(r)
		b.sweep()
	}
	if got := b.state(r, dedupe.Dead, dedupe.MaxAttempts); !got.HasJob || len(got.Evidence) != 3 {
		b.Errorf("receipt is %+v", got)
	}
	old := accepted("old", "a")
	b.accept(old)
	b.age(old, 73*time.Hour)
	b.takeOne(b.a, old, 1)
	b.expire(old)
	b.sweep()
	b.state(old, dedupe.Dead, dedupe.MaxAge)
}

func testTakeRejected(b *bench) {
	r := accepted("evt_1", foreign)
	b.accept(r)
	b.settleWork(b.a, b.takeOne(b.a, r, 1), answer(422, "never"))
	got := b.state(r, dedupe.Dead, dedupe.Rejected)
	if got.Status != 422 || !got.HasJob || got.Response != nil {
		b.Errorf("receipt is %+v", got)
	}
	b.expect(b.b, r, dedupe.DeadLetter)
	b.takeNone(b.b, quota(r.Scope, 10))
}

func testTakeReplayed(b *bench) {
	worker := b.replica("w", b.h.Store, true)
	r := accepted("evt_1", foreign)
	b.accept(r)
	b.settleWork(b.a, b.takeOne(b.a, r, 1), answer(422, "never"))
	errs := make([]error, 6)
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() { _, errs[i] = worker.Replay(b.ctx, r.Scope, r.EventID, operator) })
	}
	running.Wait()
	b.oneDid("replay", errs)
	b.state(r, dedupe.Queued, dedupe.Replayed)
	b.age(r, time.Hour) // however old the request is
	w := b.takeOne(b.b, r, 2)
	if !bytes.Equal(w.Job.Body, []byte(foreign)) || !reflect.DeepEqual(w.Job, r.Job()) {
		b.Errorf("job is %+v", w.Job)
	}
	b.takeNone(b.a, quota(r.Scope, 10))
	w.Policy.InDoubt = dedupe.Quarantine
	b.settleWork(b.b, w, delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut})
	if got := b.state(r, dedupe.Dead, dedupe.Quarantined); !got.HasJob {
		b.Errorf("receipt is %+v", got)
	}
	if err := worker.Close(b.ctx, r.Scope, r.EventID, 200, operator); err != nil {
		b.Error(err)
	}
	if _, err := b.h.Store.Job(b.ctx, keyOf(r)); !errors.Is(err, dedupe.ErrNotFound) {
		b.Errorf("the request outlived its event: %v", err)
	}
}

func testPause(b *bench) {
	held, free := accepted("held", "a"), accepted("free", "a")
	free.Scope = "other/shop"
	b.accept(held)
	b.accept(free)
	both := []dedupe.Quota{quota(held.Scope, 10), quota(free.Scope, 10)}
	if err := b.a.worker.Resume(b.ctx, held.Scope, operator); !errors.Is(err, dedupe.ErrState) {
		b.Errorf("resuming what runs: %v", err)
	}
	b.act(b.a.worker.Pause(b.ctx, held.Scope, operator))
	if err := b.b.worker.Pause(b.ctx, held.Scope, operator); !errors.Is(err, dedupe.ErrState) {
		b.Errorf("pausing twice: %v", err)
	}
	taken := b.take(b.b, 10, both...)
	if len(taken.Works) != 1 || taken.Works[0].Claim.EventID != free.EventID || taken.More ||
		!slices.Equal(taken.Held, []delivery.Scope{held.Scope}) {
		b.Errorf("taken %+v", taken)
	}
	b.accept(accepted("more", "a")) // it still accepts
	b.act(b.b.worker.Resume(b.ctx, held.Scope, dedupe.Act{Actor: "eve", Reason: "over"}))
	if taken := b.take(b.a, 10, both...); len(taken.Works) != 2 || len(taken.Held) != 0 {
		b.Errorf("taken %+v", taken)
	}
	acts, err := b.a.worker.PauseActs(b.ctx)
	if err != nil || len(acts) != 2 || !acts[0].Paused || acts[0].Act != operator || acts[1].Paused || acts[1].Actor != "eve" {
		b.Errorf("acts are %+v, %v", acts, err)
	}
}

func testTakeFaults(b *bench) {
	store := &faulty{Backend: b.h.Store}
	shaky := b.replica("shaky", store, false)
	for how, faults := range faults {
		r := accepted(name("evt_", how[:3], len(how)), "a")
		b.accept(r)
		store.set(func() { store.moves = faults[:1] })
		taken, err := shaky.worker.Take(b.ctx, []dedupe.Quota{quota(r.Scope, 1)}, 1)
		store.set(func() { store.moves = nil })
		if err != nil {
			b.Fatalf("%s: %v", how, err)
		}
		if len(taken.Works) == 0 {
			taken = b.take(shaky, 1, quota(r.Scope, 1)) // it was not claimed: nothing is lost
		}
		if len(taken.Works) != 1 || taken.Works[0].Claim.Attempt != 1 {
			b.Fatalf("%s: taken %+v", how, taken)
		}
		b.settleWork(shaky, taken.Works[0], answer(200, ""))
		b.state(r, dedupe.Applied, dedupe.NoReason)
	}
}

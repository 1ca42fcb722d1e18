package dedupetest

import (
	"errors"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// acts are what a person can do, the state it needs, and the one that it leads to without a worker.
func (b *bench) acts() map[string]struct {
	from, to dedupe.State
	do       func(by replica, r dedupe.Request) error
} {
	return map[string]struct {
		from, to dedupe.State
		do       func(by replica, r dedupe.Request) error
	}{
		"reopen": {dedupe.Applied, dedupe.Retryable, func(by replica, r dedupe.Request) error {
			return by.Reopen(b.ctx, r.Scope, r.EventID, operator)
		}},
		"replay": {dedupe.Dead, dedupe.Retryable, func(by replica, r dedupe.Request) error {
			_, err := by.Replay(b.ctx, r.Scope, r.EventID, operator)
			return err
		}},
		"close": {dedupe.Dead, dedupe.Closed, func(by replica, r dedupe.Request) error {
			return by.Close(b.ctx, r.Scope, r.EventID, 410, operator)
		}},
	}
}

func testActs(b *bench) {
	for verb, act := range b.acts() {
		if err := act.do(b.a, event("nobody")); !errors.Is(err, dedupe.ErrNotFound) {
			b.Errorf("%s of nothing: %v", verb, err)
		}
		for i, s := range situations() {
			r := event(name(verb, "_", i))
			s.enter(b, r)
			before := b.receipt(r)
			err := act.do(b.a, r)
			after := b.receipt(r)
			switch {
			case s.state != act.from:
				if !errors.Is(err, dedupe.ErrState) || after.State != before.State || len(after.Evidence) != len(before.Evidence) {
					b.Errorf("%s when %s: %v, %+v", verb, s.name, err, after)
				}
			case err != nil || after.State != act.to || after.Response != nil:
				b.Errorf("%s when %s: %v, %+v", verb, s.name, err, after)
			case after.Expires.Sub(after.Changed) != policy().Retention.Receipt:
				b.Errorf("%s when %s: expires %v", verb, s.name, after.Expires)
			case act.to == dedupe.Closed && (after.Status != 410 || after.HasJob):
				b.Errorf("%s when %s: %+v", verb, s.name, after)
			case act.to == dedupe.Retryable:
				b.fresh(b.b, r, before.Attempts+1)
			}
		}
	}
}

func testActRace(b *bench) {
	for verb, act := range b.acts() {
		for round := range manyRounds(20) {
			r := event(name(verb, "_", round))
			c := b.fresh(b.a, r, 1)
			if act.from == dedupe.Dead {
				b.settle(b.a, c, dead(job("d")))
			} else {
				b.settle(b.a, c, applied("one"))
			}
			errs := make([]error, 6)
			var running sync.WaitGroup
			for i := range errs {
				running.Go(func() { errs[i] = act.do([]replica{b.a, b.b}[i%2], r) })
			}
			running.Wait()
			b.oneDid(verb, errs)
			if got := b.receipt(r); got.State != act.to || got.Evidence[len(got.Evidence)-1].From != act.from {
				b.Errorf("%s: %+v", verb, got)
			}
		}
	}
}

func (b *bench) oneDid(verb string, errs []error) {
	b.Helper()
	done := 0
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case !errors.Is(err, dedupe.ErrState):
			b.Errorf("%s: %v", verb, err)
		}
	}
	if done != 1 {
		b.Errorf("%s was done %d times", verb, done)
	}
}

func testReplayOverLimits(b *bench) {
	r := event("evt_1")
	r.Policy.Limit = dedupe.Limit{MaxAttempts: 1, MaxAge: time.Hour}
	c := b.fresh(b.a, r, 1)
	b.settle(b.a, c, r.Policy.Settle(c, answer(500, ""), 0, nil))
	b.age(r, 2*time.Hour)
	_, err := b.a.Replay(b.ctx, r.Scope, r.EventID, operator)
	b.act(err)
	c = b.fresh(b.a, r, 2)
	b.settle(b.a, c, r.Policy.Settle(c, answer(502, ""), 0, hand(job("kept"))))
	if got := b.state(r, dedupe.Dead, dedupe.MaxAttempts); got.Status != 502 || !got.HasJob {
		b.Errorf("receipt is %+v", got)
	}
	b.expect(b.a, r, dedupe.DeadLetter)
}

// testActOvertaken lets a person act on a death, or a result, that is not the last one any more when the act is made:
// another person's act, and what followed it, came between.
func testActOvertaken(b *bench) {
	for verb, act := range b.acts() {
		r := event("overtaken_" + verb)
		again := b.runAgain(r, act.from)
		store := &between{Backend: b.h.Store}
		store.once(func(move func() ([]bool, error)) ([]bool, error) {
			again()
			return move()
		})
		if err := act.do(b.replica("late", store, true), r); !errors.Is(err, dedupe.ErrState) {
			b.Errorf("%s: %v", verb, err)
		}
		if got := b.receipt(r); got.State != act.from || got.Attempts != 2 {
			b.Errorf("%s was applied to what the person has not seen: %+v", verb, got)
		}
	}
}

// runAgain brings an event to where persons act on it, and returns what brings it there once more.
func (b *bench) runAgain(r dedupe.Request, to dedupe.State) func() {
	c := b.fresh(b.a, r, 1)
	other := dedupe.Act{Actor: "eve", Reason: operator.Reason}
	if to == dedupe.Applied {
		b.settle(b.a, c, applied("one"))
		return func() {
			b.act(b.a.Reopen(b.ctx, r.Scope, r.EventID, other))
			b.settle(b.b, b.fresh(b.b, r, 2), applied("two"))
		}
	}
	b.settle(b.a, c, dead(job("d")))
	worker := b.replica("w", b.h.Store, true)
	return func() {
		_, err := worker.Replay(b.ctx, r.Scope, r.EventID, other)
		b.act(err)
		b.settleWork(b.b, b.takeOne(b.b, r, 2), answer(422, "never"))
	}
}

// testActUnknown lets an act's answer be lost, and somebody go on from it before the person's process looks what came of
// it.
func testActUnknown(b *bench) {
	store := &between{Backend: b.h.Store}
	lost := func(made bool, then func()) {
		store.once(func(move func() ([]bool, error)) ([]bool, error) {
			if made {
				if _, err := move(); err != nil {
					return nil, err
				}
			}
			then()
			return nil, errLost
		})
	}
	shaky := b.replica("shaky", store, true)
	replay := func(r dedupe.Request, by dedupe.Act) (dedupe.State, error) {
		return shaky.Replay(b.ctx, r.Scope, r.EventID, by)
	}

	reopened := event("reopened")
	b.settle(b.a, b.fresh(b.a, reopened, 1), applied("one"))
	lost(true, func() { b.fresh(b.b, reopened, 2) })
	b.act(shaky.Reopen(b.ctx, reopened.Scope, reopened.EventID, operator))

	r := event("replayed")
	b.settle(b.a, b.fresh(b.a, r, 1), dead(job("d")))
	var work dedupe.Work
	lost(true, func() { work = b.takeOne(b.b, r, 2) })
	if state, err := replay(r, operator); err != nil || state != dedupe.Queued {
		b.Errorf("the replay was done: %s, %v", state, err)
	}

	// The same person's same act of before is another one, also where no attempt came between.
	b.age(r, 73*time.Hour)
	work.Claim.Age = 73 * time.Hour
	b.settleWork(b.b, work, delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable})
	if got := b.state(r, dedupe.Dead, dedupe.MaxAge); got.Attempts != 1 {
		b.Fatalf("receipt is %+v", got)
	}
	lost(false, func() {
		_, err := b.replica("w", b.h.Store, true).Replay(b.ctx, r.Scope, r.EventID, dedupe.Act{Actor: "eve", Reason: operator.Reason})
		b.act(err)
		b.takeOne(b.b, r, 2)
	})
	if state, err := replay(r, operator); !errors.Is(err, dedupe.ErrState) {
		b.Errorf("somebody else's replay is told as one's own: %s, %v", state, err)
	}
}

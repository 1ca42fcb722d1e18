package dedupetest

import (
	"errors"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
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
	b.settle(b.a, c, r.Policy.Settle(c, answer(502, ""), 0, job("kept")))
	if got := b.state(r, dedupe.Dead, dedupe.MaxAttempts); got.Status != 502 || !got.HasJob {
		b.Errorf("receipt is %+v", got)
	}
	b.expect(b.a, r, dedupe.DeadLetter)
}

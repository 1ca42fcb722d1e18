package dedupetest

import (
	"context"
	"errors"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// keptClaims are the ways to an attempt of an event whose request is kept.
func keptClaims() map[string]func(b *bench, r dedupe.Request) dedupe.Claim {
	worked := func(b *bench, r dedupe.Request) dedupe.Claim {
		return b.take(b.b, 1, quota(r.Scope, 1)).Works[0].Claim
	}
	died := func(b *bench, r dedupe.Request) { b.settle(b.a, b.fresh(b.a, r, 1), dead(job("d"))) }
	return map[string]func(b *bench, r dedupe.Request) dedupe.Claim{
		"accepted, by a worker": func(b *bench, r dedupe.Request) dedupe.Claim {
			accepts(&r, "a")
			b.accept(r)
			return worked(b, r)
		},
		"left behind by a delivery, by a worker": func(b *bench, r dedupe.Request) dedupe.Claim {
			now := queued(job("q"))
			now.After = 0
			b.settle(b.a, b.fresh(b.a, r, 1), now)
			return worked(b, r)
		},
		"a replayed dead letter, by a worker": func(b *bench, r dedupe.Request) dedupe.Claim {
			died(b, r)
			_, err := b.replica("w", b.h.Store, true).Replay(b.ctx, r.Scope, r.EventID, operator)
			b.act(err)
			return worked(b, r)
		},
		"a replayed dead letter, by a delivery": func(b *bench, r dedupe.Request) dedupe.Claim {
			died(b, r)
			_, err := b.a.Replay(b.ctx, r.Scope, r.EventID, operator)
			b.act(err)
			return b.fresh(b.a, r, 2)
		},
	}
}

// testKeptIsWorked: what an acknowledgement promised is done whatever the integration's mode is now. No attempt of an event
// whose request is kept leaves it to the sender.
func testKeptIsWorked(b *bench) {
	b.policy = workPolicy()
	n := 0
	for how, claim := range keptClaims() {
		for ending, end := range map[string]func(r dedupe.Request, c dedupe.Claim){
			"its owner vanished, a duplicate came": func(r dedupe.Request, _ dedupe.Claim) {
				b.expect(b.b, r, dedupe.InFlight)
				b.expire(r)
				for range 2 {
					b.expect(b.b, r, dedupe.AlreadyQueued)
				}
				b.state(r, dedupe.Claimed, dedupe.NoReason)
				b.sweep()
			},
			"not final": func(r dedupe.Request, c dedupe.Claim) {
				p := policy()
				if !c.Kept {
					p = workPolicy().Worked()
				}
				b.settle(b.a, c, p.Settle(c, answer(500, "no"), 0, nil))
			},
		} {
			n++
			r := event(name("evt_", n))
			c := claim(b, r)
			end(r, c)
			got := b.receipt(r)
			if got.State != dedupe.Queued || !got.HasJob {
				b.Fatalf("%s, %s: %s (%q), its request is kept: %t", how, ending, got.State, got.Reason, got.HasJob)
			}
			b.age(r, lease)
			b.settleWork(b.b, b.takeOne(b.b, r, c.Attempt+1), answer(200, "done"))
			b.expect(b.a, r, dedupe.Replay)
			b.audited(r.Scope)
		}
	}
}

// between is a store whose moves go through a test.
type between struct {
	dedupe.Backend
	move func(on func() ([]bool, error)) ([]bool, error)
}

func (s *between) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	return s.move(func() ([]bool, error) { return s.Backend.Move(ctx, moves) })
}

// abandon claims an event for a delivery that gives up while the claim is made, and waits until it has been given back.
func (b *bench) abandon(r dedupe.Request) {
	b.Helper()
	aloft, gone, back := make(chan struct{}), make(chan struct{}), make(chan struct{})
	moves := 0
	slow := b.replica("slow", &between{Backend: b.h.Store, move: func(on func() ([]bool, error)) ([]bool, error) {
		if moves++; moves == 1 {
			close(aloft)
			<-gone
			return on()
		}
		defer close(back)
		return on()
	}}, false)
	ctx, cancel := context.WithCancel(b.ctx)
	claimed := make(chan error, 1)
	go func() {
		_, err := slow.Claim(ctx, r)
		claimed <- err
	}()
	<-aloft
	cancel()
	if err := <-claimed; err == nil {
		b.Fatalf("%s was claimed", r.EventID)
	}
	close(gone)
	<-back
}

// testGivenBack: a claim that nobody ran leaves the event as it was. A person's word still counts.
func testGivenBack(b *bench) {
	reopen := func(r dedupe.Request) {
		b.settle(b.a, b.fresh(b.a, r, 1), applied("one"))
		b.act(b.a.Reopen(b.ctx, r.Scope, r.EventID, operator))
	}
	replay := func(kept *dedupe.Job) func(dedupe.Request) {
		return func(r dedupe.Request) {
			b.settle(b.a, b.fresh(b.a, r, 1), dead(kept))
			_, err := b.a.Replay(b.ctx, r.Scope, r.EventID, operator)
			b.act(err)
		}
	}
	for id, c := range map[string]struct {
		enter  func(dedupe.Request)
		state  dedupe.State
		reason dedupe.Reason
	}{
		"failed":            {func(r dedupe.Request) { b.settle(b.a, b.fresh(b.a, r, 1), notFinal()) }, dedupe.Retryable, dedupe.Abandoned},
		"reopened":          {reopen, dedupe.Retryable, dedupe.Reopened},
		"replayed":          {replay(nil), dedupe.Retryable, dedupe.Replayed},
		"replayed_and_kept": {replay(job("kept")), dedupe.Queued, dedupe.Abandoned},
	} {
		r := event(id)
		c.enter(r)
		for range 2 {
			if b.receipt(r).State == dedupe.Retryable {
				b.abandon(r)
			}
		}
		got := b.state(r, c.state, c.reason)
		if last := got.Evidence[len(got.Evidence)-1]; got.Attempts != 1 || last.Reason != dedupe.Abandoned || last.Attempt != 2 || last.Actor != "slow" {
			b.Errorf("%s: %d attempts, and the evidence ends with %+v", id, got.Attempts, last)
		}
		b.audited(r.Scope)
		r.Policy.Limit.MaxAge = lease
		b.age(r, 2*lease)
		switch {
		case c.state == dedupe.Queued:
			b.settleWork(b.a, b.takeOne(b.a, r, 2), answer(200, "done"))
		case c.reason == dedupe.Abandoned:
			b.expect(b.a, r, dedupe.DeadLetter)
		default:
			b.settle(b.a, b.fresh(b.a, r, 2), applied("two"))
		}
		b.audited(r.Scope)
	}
}

// testReplayBesideForgetting: an operator who acts while the request's time ends does not hear that it is queued.
func testReplayBesideForgetting(b *bench) {
	r := event("evt_1")
	b.settle(b.a, b.fresh(b.a, r, 1), dead(job("d")))
	b.age(r, policy().Retention.DeadLetter+lease)
	forgotten := 0
	store := &between{Backend: b.h.Store, move: func(on func() ([]bool, error)) ([]bool, error) {
		forgotten += b.sweep().Jobs
		return on()
	}}
	worker := b.replica("w", store, true)
	if to, err := worker.Replay(b.ctx, r.Scope, r.EventID, operator); !errors.Is(err, dedupe.ErrState) {
		b.Errorf("replayed to %s, %v", to, err)
	}
	if got := b.state(r, dedupe.Dead, dedupe.Quarantined); got.HasJob || forgotten != 1 {
		b.Errorf("%d requests are forgotten, receipt is %+v", forgotten, got)
	}
	if to, err := worker.Replay(b.ctx, r.Scope, r.EventID, operator); to != dedupe.Retryable || err != nil {
		b.Errorf("replayed to %s, %v", to, err)
	}
	b.fresh(b.a, r, 2)
}

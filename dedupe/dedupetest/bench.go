package dedupetest

import (
	"context"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// claim claims through one replica and fails the test on an error.
func (b *bench) claim(by replica, r dedupe.Request) dedupe.Decision {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patient)
	defer cancel()
	decision, err := by.Claim(ctx, r)
	if err != nil {
		b.Fatalf("claim %s: %v", r.EventID, err)
	}
	return decision
}

// expect claims and compares the decision's kind.
func (b *bench) expect(by replica, r dedupe.Request, kind dedupe.Kind) dedupe.Decision {
	b.Helper()
	decision := b.claim(by, r)
	if decision.Kind != kind {
		b.Fatalf("claim %s: kind %d (state %s, reason %q), want %d", r.EventID, decision.Kind, decision.State,
			decision.Reason, kind)
	}
	return decision
}

// fresh claims and expects to run.
func (b *bench) fresh(by replica, r dedupe.Request, attempt int) dedupe.Claim {
	b.Helper()
	decision := b.expect(by, r, dedupe.Fresh)
	if decision.Attempt != attempt || decision.Claim.Attempt != attempt {
		b.Fatalf("claim %s: attempt %d and %d, want %d", r.EventID, decision.Attempt, decision.Claim.Attempt, attempt)
	}
	if decision.State != dedupe.Claimed || decision.Claim.Token == (dedupe.Token{}) {
		b.Fatalf("claim %s: state %s, token %x", r.EventID, decision.State, decision.Claim.Token)
	}
	return decision.Claim
}

// settle records a result and expects that to work.
func (b *bench) settle(by replica, c dedupe.Claim, s dedupe.Settlement) {
	b.Helper()
	if err := b.trySettle(by, c, s); err != nil {
		b.Fatalf("settle %s to %s: %v", c.EventID, s.To, err)
	}
}

func (b *bench) trySettle(by replica, c dedupe.Claim, s dedupe.Settlement) error {
	ctx, cancel := context.WithTimeout(b.ctx, patient)
	defer cancel()
	return by.Settle(ctx, c, s)
}

// lost settles and expects that a successor was faster.
func (b *bench) lost(by replica, c dedupe.Claim, s dedupe.Settlement) {
	b.Helper()
	if err := b.trySettle(by, c, s); !errors.Is(err, dedupe.ErrClaimLost) {
		b.Fatalf("settle %s to %s: %v, want ErrClaimLost", c.EventID, s.To, err)
	}
}

func (b *bench) receipt(r dedupe.Request) dedupe.Receipt {
	b.Helper()
	receipt, err := b.a.Receipt(b.ctx, r.Scope, r.EventID)
	if err != nil {
		b.Fatalf("receipt %s: %v", r.EventID, err)
	}
	return receipt
}

// state expects a receipt's state and reason.
func (b *bench) state(r dedupe.Request, state dedupe.State, reason dedupe.Reason) dedupe.Receipt {
	b.Helper()
	receipt := b.receipt(r)
	if receipt.State != state || receipt.Reason != reason {
		b.Fatalf("receipt %s is %s (%q), want %s (%q)", r.EventID, receipt.State, receipt.Reason, state, reason)
	}
	return receipt
}

func (b *bench) age(r dedupe.Request, by time.Duration) {
	b.Helper()
	if err := b.h.Age(keyOf(r), by); err != nil {
		b.Fatalf("age %s: %v", r.EventID, err)
	}
}

// expire lets a claim's lease run out, beyond the sweeper's grace.
func (b *bench) expire(r dedupe.Request) {
	b.Helper()
	b.age(r, lease+2*grace)
}

func (b *bench) sweep() dedupe.Swept {
	b.Helper()
	swept, err := b.a.Sweep(b.ctx)
	if err != nil {
		b.Fatalf("sweep: %v", err)
	}
	return swept
}

// Settlements as the policy makes them.

func applied(body string) dedupe.Settlement {
	return policy().Settle(dedupe.Claim{Attempt: 1}, answer(200, body), 0, nil)
}

func notFinal() dedupe.Settlement {
	return policy().Settle(dedupe.Claim{Attempt: 1}, answer(503, "later"), 0, nil)
}

func notSent() dedupe.Settlement {
	return policy().Settle(dedupe.Claim{Attempt: 1}, delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable}, 0, nil)
}

func dead(job *dedupe.Job) dedupe.Settlement {
	p := policy()
	p.InDoubt = dedupe.Quarantine
	return p.Settle(dedupe.Claim{Attempt: 1}, delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut}, 0, hand(job))
}

func queued(job *dedupe.Job) dedupe.Settlement {
	p := policy()
	p.OnFailure = dedupe.Queue
	p.Backoff.Jitter = func() float64 { return 0.5 }
	return p.Settle(dedupe.Claim{Attempt: 1}, answer(503, "later"), 0, hand(job))
}

// hand is a request at hand, or none.
func hand(job *dedupe.Job) func() *dedupe.Job {
	if job == nil {
		return nil
	}
	return func() *dedupe.Job { return job }
}

func answer(status int, body string) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{
		Status: status, Body: []byte(body), Header: map[string][]string{"Content-Type": {"text/plain"}},
	}}
}

// foreign is bytes that are no text.
const foreign = "\x00\xff\xfe'\"\\\r\n\x80é\x00"

func job(body string) *dedupe.Job {
	return &dedupe.Job{
		Method: "POST", Target: "/hooks?a=1;b=%zz", Host: "hooks.example", Body: []byte(body),
		Header: map[string][]string{"Content-Type": {"application/json"}, "X-Many": {"1", "", "2"}},
	}
}

// operator is a person with a reason.
var operator = dedupe.Act{Actor: "ada", Reason: "the application is repaired"}

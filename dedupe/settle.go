package dedupe

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Settle is the one rule that turns the result of an attempt into the transition that ends its claim, in every mode.
//
// Elapsed is the time since the claim was made. Job makes the request as it is to be kept, where it is at hand: under
// OnFailure Queue it must be given unless the ledger keeps it already. Settle changes nothing; it is safe for concurrent use.
func (p Policy) Settle(c Claim, result delivery.Result, elapsed time.Duration, job func() *Job) Settlement {
	s := settling{p: p, c: c, age: c.Age + max(0, elapsed), job: job}
	switch result.Outcome {
	case delivery.NotSent:
		return s.failed(Settlement{Reason: Unreachable})
	case delivery.Answered:
		return s.answered(&result.Response)
	default:
		return s.unknown(reasonOf(result.Cause))
	}
}

// settling is one attempt that has ended.
type settling struct {
	p   Policy
	c   Claim
	age time.Duration
	job func() *Job // nil: not at hand
}

// keep is the request, where it is at hand.
func (s *settling) keep() *Job {
	if s.job == nil {
		return nil
	}
	return s.job()
}

func (s *settling) answered(answer *delivery.Response) Settlement {
	if s.p.Record.final(answer.Status) {
		return Settlement{To: Applied, Counts: true, Response: s.p.Record.keep(answer), Expires: s.p.Retention.Receipt}
	}
	if s.p.Record.Rejected != nil && s.p.Record.Rejected(answer.Status) {
		return s.dead(Settlement{Reason: Rejected, Counts: true, Response: answer})
	}
	return s.failed(Settlement{Reason: NotFinal, Counts: true, Response: answer})
}

func (s *settling) unknown(reason Reason) Settlement {
	if s.p.InDoubt == Quarantine {
		return s.dead(Settlement{Reason: Quarantined, Counts: true})
	}
	return s.failed(Settlement{Reason: reason, Counts: true})
}

// failed lets the event run again, unless a limit is used up.
func (s *settling) failed(t Settlement) Settlement {
	attempts := 0
	if t.Counts {
		attempts = s.c.Attempt
	}
	if reason := s.p.Limit.usedUp(attempts, s.age); reason != NoReason {
		t.Reason = reason
		return s.dead(t)
	}
	if s.p.OnFailure == Queue || s.c.Kept {
		t.To, t.Job, t.After = Queued, s.keep(), s.wait(t)
		return t
	}
	t.To, t.Expires = Retryable, s.p.Retention.Receipt
	return t
}

// dead keeps the receipt until a person has acted, and the request as long as dead letters are kept.
func (s *settling) dead(t Settlement) Settlement {
	t.To, t.Job, t.JobFor = Dead, s.keep(), s.p.Retention.DeadLetter
	return t
}

// wait is the time to the next attempt. Attempts that were not sent are not counted, so theirs grows with the age.
func (s *settling) wait(t Settlement) time.Duration {
	if !t.Counts {
		return s.p.Backoff.since(s.age)
	}
	return max(s.p.Backoff.after(s.c.Attempt), s.p.Backoff.asked(t.Response))
}

func reasonOf(cause delivery.Cause) Reason {
	if cause == delivery.TimedOut {
		return TimedOut
	}
	return Incomplete
}

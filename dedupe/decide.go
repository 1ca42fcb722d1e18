package dedupe

import (
	"math"
	"time"
)

// maxStale is how much of a lease may be over when its owner learns of it. Above that the lease is renewed first: an
// attempt must not outlive its lease by the time that its claim was under way.
const maxStale = time.Second

// verdict is what the rules make of a row: a decision, which holds once the move, if any, has been made.
type verdict struct {
	decision Decision
	move     *Move
}

// decide applies the rules of claiming to a row that exists. It is pure: the same request, token and finding lead to the
// same verdict. An unmade move means that the row is no longer as found: read and decide again.
func decide(r *Request, token Token, found Found) verdict {
	c := claiming{r: r, token: token, row: found.Row, now: found.Now}
	if conflict := c.conflict(); conflict != nil {
		return *conflict
	}
	switch c.row.State {
	case Claimed:
		return c.claimed()
	case Retryable:
		return c.retryable()
	case Queued:
		return c.answer(AlreadyQueued)
	case Applied:
		return c.applied()
	case Dead:
		return c.dead()
	default:
		return c.answer(Ended)
	}
}

// claiming is one request looking at one row.
type claiming struct {
	r     *Request
	token Token
	row   Row
	now   time.Time
}

// byBinding tells that the row was found by its signed content, under another unsigned ID.
func (c *claiming) byBinding() bool { return c.row.EventID != c.r.EventID }

func (c *claiming) own() bool { return c.row.Token == c.token }

// conflict compares what the two deliveries say, whatever state the event is in. Under another unsigned ID an applied
// event is answered with its result anyway; but content that differs must not run in the place of the first.
func (c *claiming) conflict() *verdict {
	if c.row.Fingerprint == c.r.Fingerprint || c.byBinding() && c.row.State == Applied {
		return nil
	}
	v := c.answer(Conflict)
	v.decision.Response, v.decision.Sealed = c.row.Response, c.row.Sealed
	return &v
}

func (c *claiming) claimed() verdict {
	left := c.row.LeaseUntil.Sub(c.now)
	switch {
	case c.own() && c.r.Policy.Lease-left > maxStale:
		return c.take(c.row.Attempt, nil)
	case c.own():
		return c.fresh(c.row.Attempt)
	case c.row.HasJob && (left <= 0 || c.acknowledges()):
		return c.answer(AlreadyQueued) // an expired lease is the sweeper's: the job runs again whatever this delivery's mode is
	case left > 0:
		v := c.answer(InFlight)
		v.decision.LeaseLeft = left
		return v
	}
	return c.expired()
}

// acknowledges tells that this integration's events are acknowledged by their job: the sender need not wait.
func (c *claiming) acknowledges() bool {
	return c.r.Accept || c.r.Policy.OnFailure == Queue
}

// expired goes on after an attempt whose owner never reported.
func (c *claiming) expired() verdict {
	if c.r.Policy.InDoubt == Quarantine {
		return c.die(Quarantined)
	}
	if reason := c.limit(); reason != NoReason {
		return c.die(reason)
	}
	return c.again(LeaseExpired)
}

func (c *claiming) retryable() verdict {
	if !c.row.Reason.byHand() { // a person wants it to run, whatever the limits say
		if reason := c.limit(); reason != NoReason {
			return c.die(reason)
		}
	}
	return c.again(NoReason)
}

// limit names the limit that is used up. An attempt that was surely not sent never counts: after one, only age does.
func (c *claiming) limit() Reason {
	attempts := c.row.Attempt
	if c.row.State == Retryable && (c.row.Reason == Unreachable || c.row.Reason == Abandoned) {
		attempts = 0
	}
	return c.r.Policy.Limit.usedUp(attempts, c.age())
}

// again claims the row for the next attempt, or stores the request as its job.
func (c *claiming) again(why Reason) verdict {
	var evidence *Evidence
	if why != NoReason {
		evidence = c.evidence(Claimed, why)
	}
	if c.r.Accept {
		return c.enqueue()
	}
	return c.take(c.row.Attempt+1, evidence)
}

func (c *claiming) take(attempt int, evidence *Evidence) verdict {
	v := c.fresh(attempt)
	move := c.move(Claimed)
	move.Attempt = attempt
	move.Lease = c.r.Policy.Lease
	move.OnExpiry = c.onExpiry(attempt)
	move.Evidence = evidence
	move.Kept = c.row.HasJob
	v.move = move
	return v
}

// onExpiry leaves an event whose request is kept to the workers: its duplicates may be acknowledged from now on.
func (c *claiming) onExpiry(attempt int) State {
	if c.row.HasJob {
		return c.r.Policy.onWorkExpiry(attempt)
	}
	return c.r.Policy.onExpiry(attempt)
}

func (c *claiming) enqueue() verdict {
	v := c.answer(AlreadyQueued)
	v.decision.State, v.decision.Reason, v.decision.First = Queued, Accepted, true
	move := c.move(Queued)
	move.Reason = Accepted
	move.Job = c.r.Job()
	move.Evidence = c.evidence(Queued, Accepted)
	v.move = move
	return v
}

func (c *claiming) die(reason Reason) verdict {
	v := c.answer(DeadLetter)
	v.decision.State, v.decision.Reason = Dead, reason
	move := c.move(Dead)
	move.Reason = reason
	move.Status = c.row.Status
	if c.r.Job != nil {
		move.Job = c.r.Job()
	}
	v.decision.Kept = c.row.HasJob || move.Job != nil
	move.JobFor = c.r.Policy.Retention.DeadLetter
	move.Evidence = c.evidence(Dead, reason)
	v.move = move
	return v
}

// dead leaves the request behind that its event has lost, where the sender will be acknowledged: whoever is need not come
// again. Nothing else changes, not even the token, so that there is no evidence of it and nobody is overtaken by it.
func (c *claiming) dead() verdict {
	v := c.answer(DeadLetter)
	v.decision.Kept = c.row.HasJob
	if !c.row.HasJob && c.r.Accept {
		v.decision.Kept = true
		v.move = c.move(Dead)
		v.move.Token, v.move.Reason, v.move.Status = c.row.Token, c.row.Reason, c.row.Status
		v.move.Job, v.move.JobFor = c.r.Job(), c.r.Policy.Retention.DeadLetter
	}
	return v
}

func (c *claiming) applied() verdict {
	kind := Replay
	if c.byBinding() {
		kind = SuspectReplay
	}
	v := c.answer(kind)
	v.decision.Response, v.decision.Sealed = c.row.Response, c.row.Sealed
	if v.decision.Response == nil && v.decision.Sealed == nil { // somebody has taken it out
		v.decision.Sealed = &SealedError{Key: c.row.Key, Damaged: true}
	}
	return v
}

func (c *claiming) fresh(attempt int) verdict {
	v := c.answer(Fresh)
	v.decision.State, v.decision.Reason, v.decision.Attempt = Claimed, NoReason, attempt
	v.decision.Claim = Claim{
		Scope: c.row.Scope, EventID: c.row.EventID, Token: c.token, Attempt: attempt, Age: c.age(), Trace: c.row.Trace,
		CredentialID: c.r.CredentialID, Told: c.row.moved(), Kept: c.row.HasJob,
	}
	return v
}

// answer describes the row as it stands.
func (c *claiming) answer(kind Kind) verdict {
	return verdict{decision: Decision{
		Kind: kind, State: c.row.State, Reason: c.row.Reason, LastStatus: c.row.Status, Attempt: c.row.Attempt,
		Age: c.age(), Left: c.left(), Trace: c.row.Trace, First: kind == AlreadyQueued && c.row.State == Queued && c.own(),
	}}
}

// move carries the request's own token, so that whoever held the row's sees that somebody else decided.
func (c *claiming) move(to State) *Move {
	return &Move{
		Key: c.row.Key, FromState: c.row.State, FromToken: c.row.Token,
		To: to, Token: c.token, Attempt: c.row.Attempt, CredentialID: c.r.CredentialID,
	}
}

func (c *claiming) evidence(to State, reason Reason) *Evidence {
	return &Evidence{
		From: c.row.State, To: to, Attempt: c.row.Attempt, Reason: reason, Status: c.row.Status,
		CredentialID: c.r.CredentialID,
	}
}

// left is until an applied event may be forgotten. Its policy may have changed since it was written, so only the row knows.
func (c *claiming) left() time.Duration {
	switch {
	case c.row.State != Applied:
		return 0
	case c.row.Expires.IsZero():
		return math.MaxInt64
	}
	return c.row.Expires.Sub(c.now)
}

// age is never negative, whatever the store's clock did.
func (c *claiming) age() time.Duration { return max(0, c.now.Sub(c.row.Created)) }

package worker

import (
	"context"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// settleReserve is what is left of a lease when an attempt must be over, so that its result can be recorded.
const settleReserve = 250 * time.Millisecond

// attempt is one claimed job on its way to the application and back: the last arrows of a delivery.
type attempt struct {
	*Dispatcher
	work  *dedupe.Work
	route *Route

	ctx     context.Context
	forward time.Duration
	result  delivery.Result
}

// run hands the job to the application and records what came of it.
func (a *attempt) run() delivery.Outcome {
	a.ctx = a.config.Watch.Begin(a.work.Claim.Trace)
	began := time.Now()
	a.result = a.send()
	a.forward = time.Since(began)
	settlement := a.work.Policy.Settle(a.work.Claim, a.result, time.Since(a.work.Taken), nil)
	a.settle(settlement, outcomeOf(settlement.To))
	if settlement.To == dedupe.Queued {
		a.wakeFor(a.work.Claim.Scope, settlement.After)
	}
	return a.result.Outcome
}

// send makes the attempt. It never outlives the lease: where nothing is left of it, the application is not bothered.
func (a *attempt) send() delivery.Result {
	timeout := min(a.route.Timeout, time.Until(a.leaseEnd())-settleReserve)
	if timeout <= 0 {
		return delivery.Result{Outcome: delivery.NotSent, Cause: delivery.TimedOut}
	}
	ctx, end := a.config.Watch.Stage(a.ctx, StageForward)
	defer end()
	claim, job := a.work.Claim, a.work.Job
	return a.config.Application.Forward(a.attempts, upstream.Attempt{
		Delivery: &delivery.Delivery{
			Method: job.Method, Target: job.Target, Host: job.Host, Header: job.Header, Body: job.Body, Received: a.work.Taken,
		},
		Scope: claim.Scope, EventType: a.work.EventType, Number: claim.Attempt,
		KeyHeader: a.route.KeyHeader, KeyValue: a.route.key(claim.EventID),
		TraceParent: a.config.Watch.TraceParent(ctx), Timeout: timeout,
		// Nobody is passed the answer on: more of it than a receipt keeps is not worth holding.
		MaxResponse: int64(max(1, a.work.Policy.Record.MaxBody)),
	})
}

func (a *attempt) leaseEnd() time.Time { return a.work.Taken.Add(a.work.Policy.Lease) }

// release gives the job back to whoever looks next.
func (a *attempt) release() {
	a.ctx = a.config.Watch.Begin(a.work.Claim.Trace)
	a.settle(dedupe.Settlement{To: dedupe.Queued, Reason: dedupe.Abandoned}, OutcomeReleased)
}

// settle records a result until the lease ends, but never tries for less than a moment, because a lease that nobody took
// over can still be settled.
func (a *attempt) settle(s dedupe.Settlement, outcome Outcome) {
	began := time.Now()
	_, end := a.config.Watch.Stage(a.ctx, StageSettle)
	until := a.leaseEnd()
	if soonest := began.Add(time.Second); until.Before(soonest) {
		until = soonest
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	err := a.config.Ledger.Settle(ctx, a.work.Claim, s)
	end()
	switch {
	case errors.Is(err, dedupe.ErrClaimLost):
		outcome, err = OutcomeLost, nil
	case err != nil:
		outcome = OutcomeUnrecorded
	}
	a.record(s, outcome, time.Since(began), err)
}

func outcomeOf(state dedupe.State) Outcome {
	switch state {
	case dedupe.Applied:
		return OutcomeApplied
	case dedupe.Dead:
		return OutcomeDead
	default:
		return OutcomeQueued
	}
}

func (a *attempt) record(s dedupe.Settlement, outcome Outcome, settle time.Duration, err error) {
	claim := a.work.Claim
	a.config.Watch.Done(a.ctx, Record{
		Scope: claim.Scope, CredentialID: a.work.CredentialID, EventType: a.work.EventType, Trace: claim.Trace,
		Reference: delivery.Reference(claim.Scope, claim.EventID), Outcome: outcome, Reason: string(s.Reason),
		Status: a.result.Response.Status, Attempt: claim.Attempt, EventAge: claim.Age, BodyBytes: len(a.work.Job.Body),
		Waited: a.work.Waited, Forward: a.forward, Settle: settle, Err: err,
	})
}

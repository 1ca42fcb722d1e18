package proxy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// deliver takes a request through the arrows of a delivery, in the order that the contract fixes: the first one that
// cannot go on has the answer.
func (x *exchange) deliver() reply {
	if refusal := x.admit(); refusal != nil {
		return *refusal
	}
	if refusal := x.read(); refusal != nil {
		return *refusal
	}
	if refusal := x.authenticate(); refusal != nil {
		return *refusal
	}
	if refusal := x.claim(); refusal != nil {
		return *refusal
	}
	if x.decision.Kind != dedupe.Fresh {
		return x.answer()
	}
	return x.settle(x.forward())
}

// admit refuses what can be refused by the header section alone, before a byte of the body is read.
func (x *exchange) admit() *reply {
	switch now := x.config.Now(); {
	case !slices.Contains(x.route.Methods, x.r.Method):
		return refusal(methodNotAllowed(x.route.Methods))
	case x.r.ContentLength > x.route.MaxBody:
		return refusal(bodyTooLarge())
	case !x.route.Verifier.Live(now):
		return refusal(noLiveCredential())
	case !x.route.Verifier.Presented(x.r.Method, x.r.RequestURI, x.r.Header):
		return refusal(signatureRejected("signature_missing"))
	}
	return nil
}

// authenticate finds out who sent the delivery and which event it carries, and whether that integration is served now.
func (x *exchange) authenticate() *reply {
	arrow := x.start(StageVerify)
	defer arrow.end()
	verifier, now := x.verifier(), x.config.Now()
	if !verifier.Live(now) {
		return refusal(noLiveCredential()) // since the request came
	}
	proof, err := verifier.Authenticate(x.delivery, now)
	rejection, refused := errors.AsType[*verify.Rejection](err)
	if refused && !rejection.Event {
		return refusal(signatureRejected(string(rejection.Reason)))
	}
	x.proof = proof
	switch {
	case !x.route.Enabled:
		return refusal(accountDisabled())
	case refused:
		return refusal(eventInvalid(string(rejection.Reason)))
	case err != nil:
		return refusal(verifierFailed(err))
	case proof.Control != nil && proof.Control.Answer != nil:
		return refusal(controlAnswered(proof.Control))
	case proof.Control != nil:
		return refusal(controlPassed(proof.Control))
	case !x.route.Accept && (x.route.Paused || x.config.Held(x.route.Scope)):
		return refusal(paused())
	}
	return nil
}

// claim asks the ledger what to do with the event, and asks again while another attempt runs and the route wants
// duplicates to wait.
func (x *exchange) claim() *reply {
	arrow := x.start(StageClaim)
	defer arrow.end()
	request := x.request(arrow.ctx)
	patience := time.Now().Add(x.route.DuplicateWait)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		asked := time.Now()
		decision, err := x.config.Ledger.Claim(arrow.ctx, request)
		if err != nil {
			return refusal(ledgerUnavailable(err))
		}
		x.decision, x.leaseEnd = decision, asked.Add(x.route.Policy.Lease)
		left := time.Until(patience)
		if decision.Kind != dedupe.InFlight || left <= 0 || !x.waitHere(min(pause, left)) {
			return nil
		}
		if refusal := x.distrusted(); refusal != nil {
			return refusal
		}
	}
}

// How long a waiting duplicate pauses before it asks again.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// waitHere pauses; false when the sender has gone, for whom nobody need wait any longer.
func (x *exchange) waitHere(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.r.Context().Done():
		return false
	}
}

func (x *exchange) request(ctx context.Context) dedupe.Request {
	return dedupe.Request{
		Scope:        x.proof.Scope,
		EventID:      x.proof.EventID,
		Fingerprint:  x.proof.Fingerprint,
		Binding:      x.proof.Binding,
		CredentialID: x.proof.CredentialID,
		EventType:    x.proof.EventType,
		Object:       x.proof.Object,
		Trace:        x.config.Watch.TraceParent(ctx),
		Policy:       x.route.Policy,
		Accept:       x.route.Accept,
		Job:          x.kept,
		Wait:         x.config.ClaimWait,
	}
}

// settleReserve is what is left of a lease when an attempt must be over, so that its result can be recorded.
const settleReserve = 250 * time.Millisecond

// forward makes the attempt. It never outlives the lease: where the claim came so late that nothing is left of it, the
// application is not bothered.
func (x *exchange) forward() delivery.Result {
	arrow := x.start(StageForward)
	defer arrow.end()
	timeout := min(x.route.Timeout, time.Until(x.leaseEnd)-settleReserve)
	if timeout <= 0 {
		return delivery.Result{Outcome: delivery.NotSent, Cause: delivery.TimedOut}
	}
	claim := x.decision.Claim
	return x.config.Application.Forward(arrow.ctx, upstream.Attempt{
		Delivery:    x.delivery,
		Scope:       claim.Scope,
		EventType:   x.proof.EventType,
		Number:      claim.Attempt,
		KeyHeader:   x.route.KeyHeader,
		KeyValue:    x.route.key(claim.EventID),
		TraceParent: x.config.Watch.TraceParent(arrow.ctx),
		Timeout:     timeout,
		Hold:        x.charge,
	})
}

// settle records what came of the attempt, and only then answers: what the sender hears is what the ledger knows.
func (x *exchange) settle(result delivery.Result) reply {
	arrow := x.start(StageSettle)
	defer arrow.end()
	claim := x.decision.Claim
	settlement := x.route.Policy.Settle(claim, result, x.took[StageForward], x.kept)
	ctx, cancel := context.WithDeadline(arrow.ctx, x.recordBy())
	defer cancel()
	switch err := x.config.Ledger.Settle(ctx, claim, settlement); {
	case err == nil:
		return x.attempted(result, settlement)
	case errors.Is(err, dedupe.ErrClaimLost):
		x.lostAttempt, x.lostStatus = claim.Attempt, result.Response.Status
		return x.succeeded(ctx)
	default:
		return unrecorded(err)
	}
}

// recordBy is until when a result is tried to be recorded: the lease's end, but never less than a moment, because a lease
// that nobody took over can still be settled.
func (x *exchange) recordBy() time.Time {
	soonest := time.Now().Add(time.Second)
	if x.leaseEnd.Before(soonest) {
		return soonest
	}
	return x.leaseEnd
}

// succeeded answers for an attempt whose claim was lost: with the successor's result, or as in flight.
func (x *exchange) succeeded(ctx context.Context) reply {
	request := x.request(ctx)
	request.EventID = x.decision.Claim.EventID // a bound ID may be another than the delivery's own
	decision, err := x.config.Ledger.Look(ctx, request)
	if err != nil {
		return unrecorded(err)
	}
	x.decision = decision
	return x.answer()
}

// kept is the request as it is kept for a worker or a person. It tells its peer like an attempt that is made now.
func (x *exchange) kept() *dedupe.Job {
	d := x.delivery
	return &dedupe.Job{
		Method: d.Method, Target: d.Target, Host: d.Host, Header: upstream.Forwarded(d.Header, d.Peer), Body: d.Body,
	}
}

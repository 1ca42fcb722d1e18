package proxy

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// answer is the reply to a delivery that does not run, because the ledger knows its event.
func (x *exchange) answer() reply {
	d := x.decision
	switch d.Kind {
	case dedupe.Replay:
		return recorded(d.Response, "replayed", OutcomeReplayed)
	case dedupe.SuspectReplay:
		return recorded(d.Response, "suspect_replay", OutcomeSuspectReplay)
	case dedupe.Conflict:
		return x.conflict()
	case dedupe.InFlight:
		return inFlight(x.route.InFlightStatus, comeBack(d.LeaseLeft))
	case dedupe.AlreadyQueued:
		return x.acknowledge("queued", OutcomeQueued)
	case dedupe.DeadLetter:
		return x.dead()
	case dedupe.Ended:
		return ended(d.LastStatus)
	default:
		return ledgerUnavailable(errUnexpectedDecision)
	}
}

// acknowledge is the reply to a delivery whose event is stored as a job: whoever has that need not send it again.
func (x *exchange) acknowledge(receipt string, outcome Outcome) reply {
	if !x.route.acknowledges() {
		// The event was stored while the integration was configured otherwise; its job is worked off all the same.
		return inFlight(x.route.InFlightStatus, comeBack(0))
	}
	ack := x.route.Acknowledge
	r := reply{status: ack.Status, body: []byte(ack.Body), receipt: receipt, outcome: outcome}
	if ack.ContentType != "" && ack.Body != "" {
		r.header = http.Header{"Content-Type": {ack.ContentType}}
	}
	return r
}

// dead is the reply to a delivery of an event that waits for a person. Only where the event's request is kept need its
// sender not send it again.
func (x *exchange) dead() reply {
	if x.decision.Kept && x.route.acknowledges() {
		return x.acknowledge("dead", OutcomeDead).because(string(x.decision.Reason))
	}
	return deadLetter(lastFailure(x.decision.LastStatus)).because(string(x.decision.Reason))
}

// conflict is the reply to another content under a known ID.
func (x *exchange) conflict() reply {
	switch d := x.decision; {
	case x.route.ReplayConflict && d.Sealed != nil:
		return ledgerUnavailable(d.Sealed)
	case x.route.ReplayConflict && d.Response != nil:
		return recorded(d.Response, "conflict", OutcomeConflict)
	}
	return eventConflict()
}

// comeBack is when a duplicate of a running attempt should come again: soon, because most attempts end long before their
// lease.
func comeBack(leaseLeft time.Duration) time.Duration {
	return min(max(leaseLeft, time.Second), 5*time.Second)
}

// lastFailure is the status of a dead event: the application's own failure where it was one.
func lastFailure(status int) int {
	if status/100 == 5 {
		return status
	}
	return http.StatusServiceUnavailable
}

func ended(status int) reply {
	if status == 0 {
		status = http.StatusOK
	}
	return reply{status: status, receipt: "closed", outcome: OutcomeClosed}
}

// attempted is the reply to the delivery that ran, once what came of it is recorded: the application's answer, what kept
// it from answering, or the acknowledgement where a job was left behind.
func (x *exchange) attempted(result delivery.Result, s dedupe.Settlement) reply {
	if s.To == dedupe.Queued {
		return x.acknowledge("queued", OutcomeQueued).because(string(s.Reason))
	}
	receipt, outcome := settled(s.To)
	if result.Outcome != delivery.Answered {
		r := unanswered(result.Cause).because(string(s.Reason)).received(receipt)
		r.outcome = outcome
		return r
	}
	return reply{
		status:  result.Response.Status,
		header:  result.Response.Header,
		body:    result.Response.Body,
		omitted: result.Response.Omitted,
		receipt: receipt,
		outcome: outcome,
		reason:  string(s.Reason),
	}
}

// settled names a receipt's state after an attempt.
func settled(state dedupe.State) (receipt string, outcome Outcome) {
	switch state {
	case dedupe.Applied:
		return "applied", OutcomeApplied
	case dedupe.Dead:
		return "dead", OutcomeDead
	default:
		return "retryable", OutcomeRetryable
	}
}

func unanswered(cause delivery.Cause) reply {
	switch cause {
	case delivery.Unreachable:
		return problem(http.StatusBadGateway, codeUpstreamUnreachable, "The application cannot be reached", OutcomeRetryable)
	case delivery.TimedOut:
		return problem(http.StatusGatewayTimeout, codeUpstreamTimeout, "The application did not answer in time", OutcomeRetryable)
	default:
		return problem(http.StatusBadGateway, codeUpstreamIncomplete, "The application's answer was cut off", OutcomeRetryable)
	}
}

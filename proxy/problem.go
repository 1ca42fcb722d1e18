package proxy

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// The codes of problems. They are stable: senders and dashboards may rely on them.
const (
	codeBodyTooLarge        = "body_too_large"
	codeBodyIncomplete      = "body_incomplete"
	codeSignatureRejected   = "signature_rejected"
	codeAccountDisabled     = "account_disabled"
	codeEventInvalid        = "event_invalid"
	codeEventConflict       = "event_conflict"
	codeInFlight            = "in_flight"
	codeDeadLetter          = "dead_letter"
	codeLedgerUnavailable   = "ledger_unavailable"
	codePaused              = "paused"
	codeOverloaded          = "overloaded"
	codeNoLiveCredential    = "no_live_credential"
	codeUpstreamUnreachable = "upstream_unreachable"
	codeUpstreamTimeout     = "upstream_timeout"
	codeUpstreamIncomplete  = "upstream_incomplete"
	codePathAmbiguous       = "path_ambiguous"
	codeRouteUnknown        = "route_unknown"
	codeMethodNotAllowed    = "method_not_allowed"
)

// How long a sender is asked to stay away.
const (
	retryPaused      = 30 * time.Second
	retryUnavailable = 5 * time.Second
	retryOverloaded  = time.Second
	retryCredential  = 30 * time.Second
	retrySealed      = 30 * time.Second
)

// problem is an RFC 9457 answer. Its title never tells a stranger more than the code does.
func problem(status int, code, title string, outcome Outcome) reply {
	return reply{
		status:  status,
		header:  http.Header{"Content-Type": {"application/problem+json"}},
		body:    problemBody(status, code, title),
		outcome: outcome,
		code:    code,
	}
}

func problemBody(status int, code, title string) []byte {
	body, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
	}{"about:blank", title, status, code})
	if err != nil {
		panic(err) // strings and a number cannot fail
	}
	return append(body, '\n')
}

func (r reply) because(reason string) reply {
	r.reason = reason
	return r
}

func (r reply) again(in time.Duration) reply {
	r.retry = in
	return r
}

func (r reply) faulted(err error) reply {
	r.err = err
	return r
}

func (r reply) received(receipt string) reply {
	r.receipt = receipt
	return r
}

// What is refused before it is known who sent it, or what.

func pathAmbiguous() reply {
	return problem(http.StatusBadRequest, codePathAmbiguous, "The path is another spelling of a guarded one", OutcomeClosedPath)
}

func routeUnknown() reply {
	return problem(http.StatusNotFound, codeRouteUnknown, "No route is configured for this path", OutcomeClosedPath)
}

func methodNotAllowed(allowed []string) reply {
	r := problem(http.StatusMethodNotAllowed, codeMethodNotAllowed, "The route does not take this method", OutcomeInvalid)
	r.header.Set("Allow", strings.Join(allowed, ", "))
	return r
}

func bodyTooLarge() reply {
	return problem(http.StatusRequestEntityTooLarge, codeBodyTooLarge, "The body is over the route's limit", OutcomeInvalid)
}

func bodyIncomplete() reply {
	return problem(http.StatusBadRequest, codeBodyIncomplete, "The body did not arrive as announced", OutcomeInvalid)
}

func signatureRejected(reason string) reply {
	return problem(http.StatusUnauthorized, codeSignatureRejected, "The delivery could not be authenticated", OutcomeRejected).
		because(reason)
}

// What is refused though its sender is known.

func accountDisabled() reply {
	return problem(http.StatusForbidden, codeAccountDisabled, "The integration is disabled", OutcomeDisabled)
}

func eventInvalid(reason string) reply {
	return problem(http.StatusBadRequest, codeEventInvalid, "The delivery carries no usable event", OutcomeInvalid).because(reason)
}

func eventConflict() reply {
	return problem(http.StatusUnprocessableEntity, codeEventConflict,
		"The event was delivered before with other content", OutcomeConflict).received("conflict")
}

func deadLetter(status int) reply {
	return problem(status, codeDeadLetter, "The event waits for a person", OutcomeDead).received("dead")
}

func inFlight(status int, retry time.Duration) reply {
	return problem(status, codeInFlight, "Another attempt for this event is running", OutcomeInFlight).
		received("in_flight").again(retry)
}

// What is our own doing: always 503, so that no sender drops its subscription for it.

func unavailable(code, title string, retry time.Duration) reply {
	return problem(http.StatusServiceUnavailable, code, title, OutcomeUnavailable).again(retry)
}

func noLiveCredential() reply {
	return unavailable(codeNoLiveCredential, "The route has no live credential", retryCredential)
}

func paused() reply {
	return unavailable(codePaused, "The integration is paused", retryPaused)
}

func overloaded() reply {
	return unavailable(codeOverloaded, "Too much is being handled at the moment", retryOverloaded)
}

func ledgerUnavailable(err error) reply {
	if errors.Is(err, dedupe.ErrSealed) {
		return unavailable(codeLedgerUnavailable, "The recorded result cannot be opened", retrySealed).
			because(string(dedupe.Unsealable)).faulted(err)
	}
	return unavailable(codeLedgerUnavailable, "The ledger cannot be reached", retryUnavailable).faulted(err)
}

// brokenOff is what is recorded of a request that a fault of ours ended before it had an answer.
func brokenOff() reply { return reply{outcome: OutcomeBrokenOff} }

func verifierFailed(err error) reply {
	return unavailable(codeNoLiveCredential, "The delivery cannot be judged at the moment", retryUnavailable).faulted(err)
}

func unrecorded(err error) reply {
	r := unavailable(codeLedgerUnavailable, "The result could not be recorded", retryUnavailable).faulted(err)
	r.outcome = OutcomeUnrecorded
	return r
}

// The sender's control messages.

func controlAnswered(c *verify.Control) reply {
	return reply{
		status: c.Answer.Status, header: c.Answer.Header, body: c.Answer.Body,
		outcome: OutcomeControl, reason: c.Name,
	}
}

func controlPassed(c *verify.Control) reply {
	return reply{pass: true, outcome: OutcomeControl, reason: c.Name}
}

package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Watch sees deliveries go by: for logs, metrics and traces. Its methods are called from many goroutines.
type Watch interface {
	// Begin starts to watch a request on a guarded path.
	Begin(r *http.Request) context.Context
	// Stage starts an arrow of the delivery; the returned function ends it.
	Stage(ctx context.Context, s Stage) (context.Context, func())
	// TraceParent is the W3C traceparent of ctx; "" for none.
	TraceParent(ctx context.Context) string
	// Done is told what became of the request, once, when its answer has been written or it was broken off.
	Done(ctx context.Context, r Record)
}

// Stage is an arrow of a delivery.
type Stage uint8

// The arrows of a delivery, in their order.
const (
	StageRead Stage = iota
	StageVerify
	StageClaim
	StageForward
	StageSettle
	stages
)

// String is the stage as it stands in logs, metrics and traces.
func (s Stage) String() string {
	return [stages]string{"read", "verify", "claim", "forward", "settle"}[s]
}

// Outcome is what became of a request on a guarded path, from a closed set.
type Outcome string

// The outcomes. Those that carry a receipt are named like the Sidecar-Receipt header.
const (
	OutcomeApplied       Outcome = "applied"
	OutcomeReplayed      Outcome = "replayed"
	OutcomeSuspectReplay Outcome = "suspect_replay"
	OutcomeRetryable     Outcome = "retryable"
	OutcomeInFlight      Outcome = "in_flight"
	OutcomeQueued        Outcome = "queued"
	OutcomeDead          Outcome = "dead"
	OutcomeClosed        Outcome = "closed"
	OutcomeConflict      Outcome = "conflict"
	OutcomeControl       Outcome = "control"     // a sender's control message
	OutcomeRejected      Outcome = "rejected"    // 401
	OutcomeInvalid       Outcome = "invalid"     // 400, 405, 413
	OutcomeDisabled      Outcome = "disabled"    // 403
	OutcomeUnavailable   Outcome = "unavailable" // 503 of our own making
	OutcomeUnrecorded    Outcome = "unrecorded"  // the answer came and could not be recorded
	OutcomeClosedPath    Outcome = "closed_path" // 404, or 400 for an ambiguous spelling
	OutcomeBrokenOff     Outcome = "broken_off"  // by a fault of ours: no answer
)

// Record is what became of one request on a guarded path. It carries nothing that is secret.
type Record struct {
	Scope        delivery.Scope // empty: no route
	Route        string         // the configured path; empty: no route
	CredentialID string
	Retiring     bool
	Reference    string // of the event; empty before it was known
	EventType    string
	Trace        string // traceparent of the event's first delivery; empty when this is it
	Outcome      Outcome
	Code         string        // of the problem; empty where none was answered
	Reason       string        // why a signature was rejected or an attempt failed; from closed sets
	Status       int           // of our answer; 0: the application's own was passed on, or there was none
	Duplicate    bool          // the event was known and this delivery brought neither an attempt nor a job
	Attempt      int           // of the event so far; 0: unknown
	LostAttempt  int           // of this delivery, whose claim was lost: what came of it is not stored; 0: none
	LostStatus   int           // of the application's answer to it; 0: none came
	EventAge     time.Duration // since the first delivery
	BodyBytes    int
	Stages       [stages]time.Duration // how long each took; 0: not reached
	Total        time.Duration
	Err          error // our own fault; never the sender's bytes
}

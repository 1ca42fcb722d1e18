package worker

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Watch sees attempts go by: for logs, metrics and traces. Its methods are called from many goroutines.
type Watch interface {
	// Begin starts to watch an attempt at an event whose first delivery had this traceparent.
	Begin(first string) context.Context
	// Stage starts an arrow of the attempt; the returned function ends it.
	Stage(ctx context.Context, s Stage) (context.Context, func())
	// TraceParent is the W3C traceparent of ctx; "" for none.
	TraceParent(ctx context.Context) string
	// Done is told what became of the attempt, once.
	Done(ctx context.Context, r Record)
}

// Stage is an arrow of an attempt, named like that of a delivery.
type Stage string

// The arrows of an attempt.
const (
	StageForward Stage = "forward"
	StageSettle  Stage = "settle"
)

// Outcome is what became of an attempt, from a closed set.
type Outcome string

// The outcomes. The first three are named like the receipt's state.
const (
	OutcomeApplied    Outcome = "applied"
	OutcomeQueued     Outcome = "queued" // not final: it will be tried again
	OutcomeDead       Outcome = "dead"
	OutcomeLost       Outcome = "lost"       // a successor had taken the job over
	OutcomeUnrecorded Outcome = "unrecorded" // the ledger could not be told; the lease ends by itself
	OutcomeReleased   Outcome = "released"   // the process stops: nothing was sent
)

// Record is what became of one attempt. It carries nothing that is secret.
type Record struct {
	Scope        delivery.Scope
	CredentialID string
	Reference    string
	EventType    string
	Trace        string // traceparent of the event's first delivery
	Outcome      Outcome
	Reason       string // why it failed; from a closed set
	Status       int    // of the application's answer; 0: none
	Attempt      int
	EventAge     time.Duration // when it was claimed
	BodyBytes    int
	Waited       time.Duration // from when it was due to its claim, by the ledger's clock
	Forward      time.Duration // 0: not reached
	Settle       time.Duration
	Err          error // our own fault
}

// unwatched is the Watch of a Dispatcher that nobody watches.
type unwatched struct{}

func (unwatched) Begin(string) context.Context       { return context.Background() }
func (unwatched) TraceParent(context.Context) string { return "" }
func (unwatched) Stage(ctx context.Context, _ Stage) (context.Context, func()) {
	return ctx, func() {}
}
func (unwatched) Done(context.Context, Record) {}

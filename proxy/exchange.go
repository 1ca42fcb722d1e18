package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// exchange is one request on a guarded path while it is handled. Its methods are the arrows of a delivery; each either
// fills in what the next one needs, or returns the answer that ends the exchange.
type exchange struct {
	*Proxy
	w     http.ResponseWriter
	r     *http.Request
	route *Route
	ctx   context.Context // detached from the sender: what has begun is finished and recorded

	began    time.Time
	unread   bool // some of the body is still on the connection
	reading  bool // the body has been asked for: a sender that waits for 100 has got it
	took     [stages]time.Duration
	charged  int64 // bytes of the budget that this exchange holds
	delivery *delivery.Delivery
	proof    verify.Proof
	decision dedupe.Decision
	leaseEnd time.Time // by this process's clock, never later than by the ledger's

	lostAttempt, lostStatus int // of an attempt whose claim was lost; see Record
}

func (p *Proxy) begin(w http.ResponseWriter, r *http.Request, route *Route) *exchange {
	return &exchange{
		Proxy: p, w: w, r: r, route: route,
		ctx:    p.config.Watch.Begin(r),
		began:  p.config.Now(),
		unread: r.ContentLength != 0,
	}
}

// arrow is one step of a delivery under way.
type arrow struct {
	x     *exchange
	stage Stage
	ctx   context.Context
	began time.Time
	done  func()
}

// start begins an arrow; the caller defers its end.
func (x *exchange) start(s Stage) arrow {
	began := time.Now()
	ctx, done := x.config.Watch.Stage(x.ctx, s)
	return arrow{x: x, stage: s, ctx: ctx, began: began, done: done}
}

func (a *arrow) end() {
	a.x.took[a.stage] += time.Since(a.began)
	a.done()
}

// passOn hands a sender's control message to the application like any open path, but never with what a guarded one
// keeps out: nobody gets through here to another protocol, or with a key of ours. It has the time of an attempt.
func (x *exchange) passOn() {
	ctx, cancel := context.WithTimeoutCause(x.r.Context(), x.route.Timeout, upstream.ErrTimedOut)
	defer cancel()
	r := x.r.WithContext(ctx)
	r.Header = upstream.Unclaimed(x.r.Header, x.route.KeyHeader)
	r.Body = io.NopCloser(bytes.NewReader(x.delivery.Body))
	r.ContentLength = int64(len(x.delivery.Body))
	r.TransferEncoding = nil
	r.Trailer = nil
	x.config.Passthrough.ServeHTTP(x.w, r)
}

// record tells the watch what became of the request.
func (x *exchange) record(answer reply) {
	record := Record{
		CredentialID: x.proof.CredentialID,
		Retiring:     x.proof.Retiring,
		EventType:    x.proof.EventType,
		Outcome:      answer.outcome,
		Code:         answer.code,
		Reason:       answer.reason,
		Status:       answer.status,
		Duplicate:    x.lostAttempt == 0 && duplicate(x.decision),
		Attempt:      max(x.decision.Attempt, x.decision.Claim.Attempt),
		EventAge:     x.decision.Age,
		Trace:        x.decision.Trace,
		Stages:       x.took,
		Total:        x.config.Now().Sub(x.began),
		Err:          answer.err,
		LostAttempt:  x.lostAttempt,
		LostStatus:   x.lostStatus,
	}
	if x.route != nil {
		record.Scope, record.Route = x.route.Scope, x.route.Path
	}
	if x.delivery != nil {
		record.BodyBytes = len(x.delivery.Body)
	}
	if x.proof.EventID != "" {
		record.Reference = delivery.Reference(record.Scope, x.proof.EventID)
	}
	x.config.Watch.Done(x.ctx, record)
}

// duplicate tells whether a delivery changed nothing, because its event was known. One of other content is none.
func duplicate(d dedupe.Decision) bool {
	switch d.Kind {
	case dedupe.Replay, dedupe.SuspectReplay, dedupe.InFlight, dedupe.DeadLetter, dedupe.Ended:
		return true
	case dedupe.AlreadyQueued:
		return !d.First
	default:
		return false
	}
}

package rediscache

import (
	"crypto/sha256"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// fact is an applied event as the ledger told it. It is never changed.
type fact struct {
	scope       delivery.Scope
	id          delivery.EventID
	fingerprint [sha256.Size]byte
	bound       bool // the ID is unsigned and bound to the signed content
	attempt     uint32
	lastStatus  uint16
	reason      dedupe.Reason
	trace       string
	created     time.Time // of the first claim, in milliseconds
	confirmed   time.Time // by the ledger, in milliseconds: not later than when it was asked
	expires     time.Time // in milliseconds: the receipt lives at least so long
	response    *delivery.Response
}

// factOf makes a fact of a Replay.
func factOf(r *dedupe.Request, d *dedupe.Decision, asked time.Time, life time.Duration) fact {
	return fact{
		scope: r.Scope, id: r.EventID, fingerprint: r.Fingerprint, bound: bound(r),
		attempt: uint32(d.Attempt), lastStatus: uint16(d.LastStatus), reason: d.Reason, trace: d.Trace,
		created: asked.Add(-d.Age), confirmed: asked, expires: asked.Add(life), response: d.Response,
	}
}

// bound tells that the delivery's ID is not signed.
func bound(r *dedupe.Request) bool { return r.Binding != [sha256.Size]byte{} }

// decide says what the ledger would say about the delivery, where the fact alone proves it. An unsigned ID with other
// content is the ledger's to judge: the content may be known under another ID.
func (f *fact) decide(r *dedupe.Request, now time.Time) (dedupe.Decision, bool) {
	if f.bound != bound(r) {
		return dedupe.Decision{}, false
	}
	kind := dedupe.Replay
	if f.fingerprint != r.Fingerprint {
		kind = dedupe.Conflict
	}
	if kind == dedupe.Conflict && f.bound {
		return dedupe.Decision{}, false
	}
	return dedupe.Decision{
		Kind: kind, Response: f.response, State: dedupe.Applied, Reason: f.reason, LastStatus: int(f.lastStatus),
		Attempt: int(f.attempt), Age: max(0, now.Sub(f.created)), Left: f.expires.Sub(now), Trace: f.trace,
	}, true
}

// trusted tells that the fact may be answered although the ledger could be asked. A confirmation from the future is
// another clock's, and worth nothing unless the two differ as much as clocks do.
func (f *fact) trusted(now time.Time) bool {
	ago := now.Sub(f.confirmed)
	return ago >= -skew && ago <= trust
}

package verify

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Verdict is what sidecar verify tells of one captured delivery. It never holds a secret, a signature or a part of a
// body other than the event's ID and type.
type Verdict struct {
	Verdict       string // verified, rejected or control
	Reason        Reason // why it was rejected, or why a verified delivery has no usable event; empty: nothing is wrong
	Hint          string // what a person can do about it
	CredentialID  string
	SignedAt      time.Time // zero where no time is signed
	EventID       delivery.EventID
	EventIDSigned bool
	EventType     string
	Control       *Control // its name only: nothing is answered here
}

// Explain judges a delivery like Authenticate and then, where it is rejected, looks for the mistake that people make. It is
// slow and meant for people, not for traffic.
func (v *Verifier) Explain(d *delivery.Delivery, now time.Time) Verdict {
	if known, found := v.unsigned(d, now); found {
		return Verdict{Verdict: "control", Control: &Control{Name: known.name}}
	}
	doc := &document{delivery: d, tree: v.tree}
	found, rejection := v.authenticate(doc, now)
	if rejection != nil {
		return Verdict{Verdict: "rejected", Reason: rejection.Reason, Hint: v.hint(d, now, rejection)}
	}
	out := Verdict{Verdict: "verified", CredentialID: found.by.ID, SignedAt: found.at}
	if known, is := v.control(controlRequest{document: doc, now: now, by: found.by, keys: v.keys, scheme: v.scheme}); is {
		out.Verdict, out.Control = "control", &Control{Name: known.name}
		v.explainEvent(&out, doc, found)
		out.Reason, out.Hint = "", "" // it is no event, and needs no part of one
		return out
	}
	v.explainEvent(&out, doc, found)
	return out
}

// explainEvent reads each part for itself, so that a missing one does not hide the others.
func (v *Verifier) explainEvent(out *Verdict, doc *document, found evidence) {
	kind, _, kindFault := v.event.kind(doc, found)
	id, signed, idFault := v.id(doc, found)
	out.EventType, out.EventID, out.EventIDSigned = kind, id, signed
	for _, fault := range []*Rejection{kindFault, idFault} {
		if fault != nil {
			out.Reason, out.Hint = fault.Reason, "the signature is good, but the delivery would be answered 400"
		}
	}
}

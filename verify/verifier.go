package verify

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Verifier authenticates the deliveries of one integration. It is immutable and safe for concurrent use.
type Verifier struct {
	scope     delivery.Scope
	preset    Preset
	scheme    scheme
	keys      ring
	event     event
	require   []requirement
	tree      *pointerTree
	handshake Handshake
	// bodySigned: the headers never tell whether there is a signature.
	bodySigned bool
}

// New checks a configuration and prepares its keys. All faults are joined; each names its field ("hmac.signed: …") and
// none holds a secret.
func New(cfg Config) (*Verifier, error) {
	preset, found := LookupPreset(cfg.Provider)
	if !found {
		return nil, fmt.Errorf("provider: %q is unknown", cfg.Provider)
	}
	cfg = preset.complete(cfg)
	made, schemeErr := preset.build(cfg)
	if made == nil {
		return nil, errors.Join(schemeErr, cfg.check(preset))
	}
	v := &Verifier{scope: cfg.Scope, preset: preset, scheme: made, tree: &pointerTree{}, handshake: cfg.Handshake}
	v.bodySigned = made.presented(nil)
	var ringErr, eventErr, requireErr, controlErr error
	v.keys, ringErr = newRing(cfg.Credentials, made)
	v.event, eventErr = newEvent(cfg, preset, made, v.tree)
	v.require, requireErr = newRequirements(cfg, preset, made, v.tree)
	_, controlErr = slots(preset.reads, v.tree)
	if err := errors.Join(schemeErr, cfg.check(preset), ringErr, eventErr, requireErr, controlErr); err != nil {
		return nil, err
	}
	return v, nil
}

// Live tells whether any credential verifies at a time.
func (v *Verifier) Live(now time.Time) bool {
	for range v.keys.live(now) {
		return true
	}
	return false
}

// Presented tells by the header section alone whether a request can be a delivery: whether the signature that it needs
// is there, or it may be one of the sender's unsigned control messages. It is true where signatures are in bodies.
func (v *Verifier) Presented(method, target string, h http.Header) bool {
	if v.scheme.presented(h) {
		return true
	}
	_, found := v.unsigned(&delivery.Delivery{Method: method, Target: target, Header: h}, time.Time{})
	return found
}

// Authenticate tells who sent a delivery and which event it carries. The error is a *Rejection; where its Event is set,
// the signature verified and the Proof still holds Scope and CredentialID. It is ErrUnavailable where the delivery could
// not be judged.
func (v *Verifier) Authenticate(d *delivery.Delivery, now time.Time) (Proof, error) {
	doc := &document{delivery: d, tree: v.tree}
	if known, found := v.unsigned(d, now); found {
		return Proof{Scope: v.scope, Control: v.respond(known, controlRequest{document: doc, now: now, keys: v.keys, scheme: v.scheme})}, nil
	}
	found, rejection := v.authenticate(doc, now)
	if rejection != nil {
		return Proof{}, verdictOn(rejection)
	}
	proof := Proof{
		Scope:        v.scope,
		CredentialID: found.by.ID,
		Retiring:     found.by.Status == Retiring,
		SignedAt:     found.at,
	}
	asked := controlRequest{document: doc, now: now, by: found.by, keys: v.keys, scheme: v.scheme}
	if known, is := v.control(asked); is {
		proof.Control = v.respond(known, asked)
		return proof, nil
	}
	if rejection := v.identify(&proof, doc, found); rejection != nil {
		return Proof{Scope: proof.Scope, CredentialID: proof.CredentialID}, rejection
	}
	return proof, nil
}

// verdictOn keeps apart what is not the delivery's fault.
func verdictOn(rejection *Rejection) error {
	if rejection.Reason == CertificateUnavailable {
		return ErrUnavailable
	}
	return rejection
}

// unsigned finds a control message that carries no signature.
func (v *Verifier) unsigned(d *delivery.Delivery, now time.Time) (control, bool) {
	if !v.awaitsControl(d.Header) {
		return control{}, false
	}
	return v.control(controlRequest{document: &document{delivery: d, tree: v.tree}, now: now, keys: v.keys, scheme: v.scheme})
}

// authenticate checks everything that a stranger could get wrong.
func (v *Verifier) authenticate(doc *document, now time.Time) (evidence, *Rejection) {
	if v.bodySigned && encoded(doc.delivery.Header) {
		// The signature would be read from the body as it is, and the event from what it decodes to.
		return evidence{}, reject(BodyRefused)
	}
	if _, fetches := v.scheme.(fetcher); fetches && slices.ContainsFunc(v.require, doc.refutes) {
		// Even a good signature would not help it, so nothing is fetched for it.
		return evidence{}, reject(RequirementUnmet)
	}
	found, rejection := v.scheme.verify(doc.delivery, now, v.keys)
	if rejection != nil {
		return found, rejection
	}
	for _, must := range v.require {
		if !doc.meets(must) {
			return found, reject(RequirementUnmet)
		}
	}
	return found, nil
}

// identify reads the event.
func (v *Verifier) identify(p *Proof, doc *document, found evidence) *Rejection {
	kind, kindSigned, rejection := v.event.kind(doc, found)
	if rejection != nil {
		return rejection
	}
	if p.EventID, p.IDSigned, rejection = v.id(doc, found); rejection != nil {
		return rejection
	}
	if p.Fingerprint, rejection = v.event.fingerprint.sum(doc); rejection != nil {
		return rejection
	}
	p.EventType = kind
	p.Object = v.event.reference(doc)
	if kindSigned {
		kind = ""
	}
	if !p.IDSigned {
		p.Binding = v.event.binding(doc, found, kind)
	}
	return nil
}

// id is the event's ID. What the operator configured comes before the preset's own way to derive one.
func (v *Verifier) id(doc *document, found evidence) (delivery.EventID, bool, *Rejection) {
	if v.preset.identify == nil || len(v.event.ids) > 0 {
		return v.event.id(doc, found)
	}
	id, rejection := v.preset.identify(doc)
	return id, rejection == nil, rejection
}

// Credentials tells what may be shown of the credentials, in the order of the configuration.
func (v *Verifier) Credentials() []CredentialInfo {
	out := make([]CredentialInfo, 0, len(v.keys))
	for _, c := range v.keys {
		out = append(out, c.info())
	}
	return out
}

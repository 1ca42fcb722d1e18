package verify

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// maxObject bounds the business reference.
const maxObject = 255

// event reads the parts of an event. It is built once.
type event struct {
	ids, kinds  []choice // the first that a delivery has
	object      reader
	types       []string
	fingerprint fingerprint
	bind        bool
	opaque      bool // the body may be no JSON: the next choice is tried then
}

// choice is a source and what the signature says about it.
type choice struct {
	reader
	signed bool
	varies bool // the header's name is that of the set that the delivery carries
}

func newEvent(cfg Config, p Preset, s scheme, tree *pointerTree) (event, error) {
	out := event{types: cfg.Event.Types, bind: cfg.UnsignedID == Bind, opaque: p.opaque}
	var idErr, kindErr, objectErr, printErr error
	out.ids, idErr = choices(cfg.Event.ID, p.ids(), s, tree)
	out.kinds, kindErr = choices(cfg.Event.Type, p.kinds(), s, tree)
	if cfg.Event.Object.empty() {
		cfg.Event.Object = p.Object
	}
	out.object, objectErr = newReader(cfg.Event.Object, tree)
	out.fingerprint, printErr = newFingerprint(cfg.Fingerprint, tree)
	if len(out.ids) == 0 && p.identify == nil && !cfg.SignatureOnly && idErr == nil {
		idErr = errors.New(noID(p))
	}
	if len(out.types) > 0 && len(out.kinds) == 0 && kindErr == nil {
		kindErr = errors.New("missing, and event.types needs it")
	}
	return out, errors.Join(field("event.id", idErr), field("event.type", kindErr), field("event.types", checkTypes(out.types)),
		field("event.object", objectErr), printErr)
}

func noID(p Preset) string {
	if p.Choose != "" {
		return "missing: " + p.Choose
	}
	return "missing"
}

func checkTypes(types []string) error {
	for _, kind := range types {
		if err := delivery.CheckToken(kind); err != nil {
			return fmt.Errorf("%q %w", kind, err)
		}
	}
	return nil
}

// choices is what the operator wrote, or else what the preset says.
func choices(written Source, known []Source, s scheme, tree *pointerTree) ([]choice, error) {
	if !written.empty() {
		known = []Source{written}
	}
	var out []choice
	for _, source := range known {
		if source.empty() {
			continue
		}
		made, err := newReader(source, tree)
		if err != nil {
			return nil, err
		}
		out = append(out, choice{made, source.signed(s), varies(s, made.header)})
	}
	return out, nil
}

// varies tells whether a header is the scheme's signed ID, whose name depends on the set of headers in use.
func varies(s scheme, header string) bool {
	d, ok := s.(*declared)
	return ok && header != "" && d.variants[0].id == header
}

// read gives the value of the first choice that the delivery has.
func (e *event) read(all []choice, d *document, idName string) (value string, by choice, state status) {
	last := missing
	for _, c := range all {
		name := ""
		if c.varies {
			name = idName
		}
		value, state = c.read(d, name)
		if state != missing && !(state == unreadable && e.opaque) {
			return value, c, state
		}
		last = max(last, state)
	}
	return "", choice{}, last
}

// id finds the event ID.
func (e *event) id(d *document, found evidence) (delivery.EventID, bool, *Rejection) {
	value, by, state := e.read(e.ids, d, found.idName)
	switch state {
	case missing:
		return "", false, rejectEvent(EventIDMissing)
	case malformed:
		return "", false, rejectEvent(EventIDMalformed)
	case unreadable, sealed:
		return "", false, rejectEvent(BodyMalformed)
	}
	id, err := delivery.ParseEventID(value)
	if err != nil {
		return "", false, rejectEvent(idFault(value))
	}
	return id, by.signed || by.source.signedIn(found), nil
}

func idFault(value string) Reason {
	if value == "" {
		return EventIDMissing
	}
	return EventIDMalformed
}

// kind finds the event type, which is optional unless types are listed, and whether the signature covers it.
func (e *event) kind(d *document, found evidence) (kind string, signed bool, rejection *Rejection) {
	value, by, state := e.read(e.kinds, d, found.idName)
	if (state == unreadable || state == sealed) && !e.needsJSON(d) {
		state = missing
	}
	switch {
	case state == unreadable || state == sealed:
		return "", false, rejectEvent(BodyMalformed)
	case state == malformed:
		return "", false, rejectEvent(EventTypeMalformed)
	case state == missing || value == "":
		if len(e.types) > 0 {
			return "", false, rejectEvent(EventTypeMissing)
		}
		return "", false, nil
	case delivery.CheckToken(value) != nil:
		return "", false, rejectEvent(EventTypeMalformed)
	case len(e.types) > 0 && !slices.Contains(e.types, value):
		return "", false, rejectEvent(EventTypeRefused)
	}
	return value, by.signed || by.source.signedIn(found), nil
}

// needsJSON tells whether a body that is no JSON is at fault where only the type is sought in it: where types are listed,
// or where the body claims to be JSON. Elsewhere an opaque body has no type.
func (e *event) needsJSON(d *document) bool {
	return len(e.types) > 0 || declaresJSON(d.delivery.Header) && len(d.delivery.Body) > 0
}

// reference is the business object, or empty where there is none that can be shown.
func (e *event) reference(d *document) string {
	if e.object.source.empty() {
		return ""
	}
	value, state := e.object.read(d, "")
	if state != present || len(value) > maxObject {
		return ""
	}
	for _, c := range value {
		if c < 0x20 || c == 0x7f || c == 0xfffd {
			return ""
		}
	}
	return value
}

// binding is one for all deliveries with the same signed content and unsigned type. A signed type is part of the content;
// it is left out, as whoever hides the body from its reader by fields that are not signed also takes the type away. An
// empty body is never bound.
func (e *event) binding(d *document, found evidence, kind string) [sha256.Size]byte {
	if !e.bind || len(found.covered) == 0 || len(d.delivery.Body) == 0 {
		return [sha256.Size]byte{}
	}
	content := joined(found.covered)
	return delivery.HashParts([]byte("binding"), content[:], []byte(kind))
}

// joined hashes parts as one text: where they were cut must not matter, as the signature does not cover that.
func joined(parts [][]byte) [sha256.Size]byte {
	digest := sha256.New()
	for _, part := range parts {
		digest.Write(part)
	}
	var sum [sha256.Size]byte
	digest.Sum(sum[:0])
	return sum
}

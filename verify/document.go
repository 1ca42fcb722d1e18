package verify

import (
	"bytes"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// status is how the search for one part of an event ended.
type status uint8

const (
	present status = iota
	missing
	malformed
	unreadable // the body is text, but not what the source needs: no JSON, no form
	sealed     // the body is no text: its Content-Encoding cannot be undone, or is not the one that it has
)

// document is the body of one delivery as it is read for its parts, once and only when needed. It is not safe for
// concurrent use.
type document struct {
	delivery *delivery.Delivery
	tree     *pointerTree
	read     bool
	ok       bool
	plain    []byte      // the body without its Content-Encoding
	scanned  bool        // plain was scanned
	json     bool        // and is one JSON document
	found    []jsonValue // values of the tree's pointers
	cuts     []span      // places that the tree cuts out
}

// text is the body without its Content-Encoding.
func (d *document) text() ([]byte, bool) {
	if !d.read {
		d.plain, d.ok = decodeContent(d.delivery.Header, d.delivery.Body)
		d.read = true
	}
	return d.plain, d.ok
}

// values are the values of the tree's pointers; false where the body is not one JSON document.
func (d *document) values() ([]jsonValue, bool) {
	if d.scanned {
		return d.found, d.json
	}
	d.scanned = true
	plain, ok := d.text()
	if !ok {
		return nil, false
	}
	found, cuts, err := d.tree.scan(plain)
	d.found, d.cuts, d.json = found, cuts, err == nil
	return d.found, d.json
}

// cut is the body without its Content-Encoding, and the places in it that a tree cuts out; false where the body is not one
// JSON document.
func (d *document) cut(tree *pointerTree) (plain []byte, cuts []span, ok bool) {
	if tree == d.tree {
		_, ok = d.values()
		return d.plain, d.cuts, ok
	}
	if plain, ok = d.text(); !ok {
		return nil, nil, false
	}
	_, cuts, err := tree.scan(plain)
	return plain, cuts, err == nil
}

// scalar is the text of a string or the literal of a number.
func (d *document) scalar(slot int) (string, status) {
	values, ok := d.values()
	switch {
	case ok:
		return values[slot].scalar()
	case !d.legible():
		return "", sealed
	case declaresForm(d.delivery.Header):
		return "", missing
	}
	return "", unreadable
}

func (v jsonValue) scalar() (string, status) {
	switch {
	case v.repeated:
		return "", malformed
	case v.kind == absent || v.kind == null:
		return "", missing
	case v.kind == number:
		return string(v.raw), present
	case v.kind == text:
		decoded, err := decodeText(v.raw)
		if err != nil {
			return "", malformed
		}
		return decoded, present
	}
	return "", malformed
}

// legible tells whether the body, without its Content-Encoding, may be text. The signature covers neither that field nor
// Content-Type: where a stranger could hide the body from its reader by changing them, there must be no other way to go
// on, or one delivery would become two events.
func (d *document) legible() bool {
	plain, ok := d.text()
	return ok && bytes.IndexFunc(plain, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }) < 0
}

// pointer is the text of a string at a pointer that the tree holds; false where there is none.
func (d *document) pointer(pointer string) (string, bool) {
	slot, known := d.tree.known[pointer]
	values, ok := d.values()
	if !known || !ok || values[slot].kind != text {
		return "", false
	}
	found, state := values[slot].scalar()
	return found, state == present
}

// value is what stands at a pointer that the tree holds.
func (d *document) value(pointer string) jsonValue {
	slot, known := d.tree.known[pointer]
	values, ok := d.values()
	if !known || !ok || values[slot].repeated {
		return jsonValue{}
	}
	return values[slot]
}

// field is the value of a field of a form. A JSON document is never read as one, whatever it is called: a text within it
// would be a second event.
func (d *document) field(name string) (string, status) {
	if !d.legible() {
		return "", sealed
	}
	if _, isJSON := d.values(); isJSON || declaresJSON(d.delivery.Header) {
		return "", missing
	}
	plain, _ := d.text()
	value, found, repeated, broken := formField(plain, name)
	switch {
	case repeated || found && broken:
		return "", malformed
	case !found && broken:
		return "", unreadable
	case !found || value == "":
		return "", missing
	}
	return value, present
}

package verify

import (
	"bytes"
	"errors"
)

// maxDepth bounds the nesting of a document, and with it the stack.
const maxDepth = 256

var errJSON = errors.New("not one JSON document")

// jsonKind is what a JSON value is. The zero value is absent.
type jsonKind uint8

const (
	absent jsonKind = iota
	null
	boolean
	number
	text
	array
	object
)

// jsonValue is what a pointer led to.
type jsonValue struct {
	kind     jsonKind
	repeated bool   // a key on the way occurs twice: nobody knows which of them a reader takes
	raw      []byte // the value as sent
}

// span is a place in a document.
type span struct{ start, end int }

// isDocument tells whether data is exactly one JSON document.
func isDocument(data []byte) bool {
	_, _, err := (&pointerTree{}).scan(data)
	return err == nil
}

// scan checks that data is exactly one JSON document (RFC 8259) and finds the values of the tree's pointers, one per
// slot, and the places of the values that are to be cut out. A byte order mark in front is skipped. Strings that no pointer leads to may hold invalid UTF-8: they are not read.
func (t *pointerTree) scan(data []byte) (found []jsonValue, cuts []span, err error) {
	s := scanner{data: data, found: make([]jsonValue, t.slots)}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		s.at = 3
	}
	if !s.value(&t.root) {
		return nil, nil, errJSON
	}
	s.space()
	if s.at != len(data) {
		return nil, nil, errJSON
	}
	return s.found, s.cuts, nil
}

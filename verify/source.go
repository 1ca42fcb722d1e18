package verify

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// reader is a Source made ready for reading.
type reader struct {
	source Source
	slot   int // of the JSON pointer
	header string
	parts  []reader
}

// newReader checks a source and enters its pointers into the tree.
func newReader(s Source, tree *pointerTree) (reader, error) {
	out := reader{source: s}
	if err := s.check(); err != nil {
		return out, err
	}
	switch {
	case s.Header != "":
		out.header = canonical(s.Header)
		return out, checkHeader(s.Header, true)
	case s.JSON != "":
		slot, err := tree.add(s.JSON)
		out.slot = slot
		return out, err
	case s.Hash != "" && s.Hash != "body":
		return out, fmt.Errorf("hash: %q is not body", s.Hash)
	}
	for i, part := range s.Join {
		made, err := newReader(part, tree)
		if err != nil || part.empty() {
			return out, fmt.Errorf("join.%d: %w", i, errors.Join(err, emptyPart(part)))
		}
		out.parts = append(out.parts, made)
	}
	return out, nil
}

func emptyPart(part Source) error {
	if part.empty() {
		return errors.New("names no place")
	}
	return nil
}

func (s Source) empty() bool {
	return s.Header == "" && s.JSON == "" && s.Form == "" && s.Hash == "" && len(s.Join) == 0
}

func (s Source) check() error {
	set := 0
	for _, used := range []bool{s.Header != "", s.JSON != "", s.Form != "", s.Hash != "", len(s.Join) > 0} {
		if used {
			set++
		}
	}
	if set > 1 {
		return errors.New("names more than one place")
	}
	return nil
}

// read gives the text that a source names. idName replaces the name of a header that varies with the delivery.
func (r reader) read(d *document, idName string) (string, status) {
	switch {
	case r.header != "":
		return r.readHeader(d, idName)
	case r.source.JSON != "":
		return d.scalar(r.slot)
	case r.source.Form != "":
		return d.field(r.source.Form)
	case r.source.Hash != "":
		if len(d.delivery.Body) == 0 {
			return "", missing
		}
		return hashed(d.delivery.Body), present
	case len(r.parts) > 0:
		return r.join(d, idName)
	}
	return "", missing
}

func (r reader) readHeader(d *document, idName string) (string, status) {
	name := r.header
	if idName != "" {
		name = idName
	}
	switch values := d.delivery.Header[name]; {
	case len(values) == 0:
		return "", missing
	case len(values) > 1:
		return "", malformed
	case values[0] == "":
		return "", missing
	default:
		return values[0], present
	}
}

// join needs all parts: a hash over what happened to be there would be the same for two events.
func (r reader) join(d *document, idName string) (string, status) {
	parts := make([][]byte, len(r.parts))
	for i, part := range r.parts {
		value, state := part.read(d, idName)
		if state != present {
			return "", state
		}
		parts[i] = []byte(value)
	}
	return hashed(parts...), present
}

func hashed(parts ...[]byte) string {
	sum := delivery.HashParts(parts...)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// signed tells whether a scheme covers every part of a source.
func (s Source) signed(by scheme) bool {
	if len(s.Join) == 0 {
		return by.covers(s)
	}
	for _, part := range s.Join {
		if !part.signed(by) {
			return false
		}
	}
	return true
}

// signedIn tells whether one delivery's signature covers every part of a source, where the sender chooses what to sign.
func (s Source) signedIn(found evidence) bool {
	switch {
	case len(s.Join) > 0:
		for _, part := range s.Join {
			if !part.signedIn(found) {
				return false
			}
		}
		return true
	case s.Header != "":
		return slices.Contains(found.headers, canonical(s.Header))
	}
	return found.content
}

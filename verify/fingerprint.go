package verify

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// fingerprint hashes what all deliveries of one event have in common.
type fingerprint struct {
	include, exclude []int // slots
	names            []string
}

func newFingerprint(f Fingerprint, tree *pointerTree) (fingerprint, error) {
	var out fingerprint
	set := 0
	for _, used := range []bool{f.Body, len(f.Include) > 0, len(f.Exclude) > 0} {
		if used {
			set++
		}
	}
	if set > 1 {
		return out, errors.New("only one of body, include, exclude")
	}
	out.names = f.Include
	var includeErr, excludeErr error
	out.include, includeErr = slots(f.Include, tree)
	out.exclude, excludeErr = slots(f.Exclude, tree)
	return out, errors.Join(field("include", includeErr), field("exclude", excludeErr))
}

func slots(pointers []string, tree *pointerTree) ([]int, error) {
	var out []int
	for _, pointer := range pointers {
		slot, err := tree.add(pointer)
		if err != nil {
			return nil, err
		}
		out = append(out, slot)
	}
	return out, nil
}

// sum hashes a delivery. A body that is no JSON is hashed whole where parts were to be left out, and is malformed where
// parts were to be picked. Without a body the target, where the query is, stands in for it.
func (f fingerprint) sum(d *document) ([sha256.Size]byte, *Rejection) {
	if len(d.delivery.Body) == 0 {
		return delivery.HashParts([]byte("target"), []byte(d.delivery.Target)), nil
	}
	if len(f.include)+len(f.exclude) == 0 {
		return delivery.HashParts([]byte("body"), d.delivery.Body), nil
	}
	values, ok := d.values()
	switch {
	case !ok && len(f.include) > 0:
		return [sha256.Size]byte{}, rejectEvent(BodyMalformed)
	case !ok:
		return delivery.HashParts([]byte("body"), d.delivery.Body), nil
	case len(f.include) > 0:
		return f.picked(values), nil
	}
	return f.rest(d, values), nil
}

// picked hashes the chosen values as they were sent.
func (f fingerprint) picked(values []jsonValue) [sha256.Size]byte {
	parts := [][]byte{[]byte("include")}
	for i, slot := range f.include {
		parts = append(parts, []byte(f.names[i]), []byte{byte(values[slot].kind)}, values[slot].raw)
	}
	return delivery.HashParts(parts...)
}

// rest hashes the body without the values that are left out.
func (f fingerprint) rest(d *document, values []jsonValue) [sha256.Size]byte {
	var out []jsonValue
	for _, slot := range f.exclude {
		if values[slot].kind != absent {
			out = append(out, values[slot])
		}
	}
	slices.SortFunc(out, func(a, b jsonValue) int { return cmp.Compare(a.start, b.start) })
	plain, _ := d.text()
	parts, at := [][]byte{[]byte("exclude")}, 0
	for _, value := range out {
		if value.start < at {
			continue // inside one that is already left out
		}
		parts = append(parts, plain[at:value.start])
		at = value.start + len(value.raw)
	}
	return delivery.HashParts(append(parts, plain[at:])...)
}

package verify

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// fingerprint hashes what all deliveries of one event have in common.
type fingerprint struct {
	include []int // slots
	names   []string
	exclude *pointerTree // cuts out what differs; nil: nothing does
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
		return out, errors.New("fingerprint: only one of body, include, exclude")
	}
	out.names = f.Include
	var includeErr error
	out.include, includeErr = slots(f.Include, tree)
	var excludeErr error
	out.exclude, excludeErr = cutter(f.Exclude, tree)
	return out, errors.Join(field("fingerprint.include", includeErr), field("fingerprint.exclude", excludeErr))
}

// cutter is a tree that cuts pointers out: the document's own, so that one pass does for everything, unless a pointer has a
// *, which means something else for the others.
func cutter(pointers []string, tree *pointerTree) (*pointerTree, error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(pointers, func(pointer string) bool { return strings.Contains(pointer, "*") }) {
		tree = &pointerTree{}
	}
	var errs []error
	for _, pointer := range pointers {
		errs = append(errs, tree.cut(pointer))
	}
	return tree, errors.Join(errs...)
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
	switch {
	case f.exclude != nil:
		return f.rest(d), nil
	case len(f.include) > 0:
		values, ok := d.values()
		if !ok {
			return [sha256.Size]byte{}, rejectEvent(BodyMalformed)
		}
		return f.picked(values), nil
	}
	return wholeSum(d), nil
}

func wholeSum(d *document) [sha256.Size]byte {
	return delivery.HashParts([]byte("body"), d.delivery.Body)
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
func (f fingerprint) rest(d *document) [sha256.Size]byte {
	plain, cuts, ok := d.cut(f.exclude)
	if !ok {
		return wholeSum(d)
	}
	slices.SortFunc(cuts, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	parts, at := append(make([][]byte, 0, len(cuts)+2), []byte("exclude")), 0
	for _, cut := range cuts {
		if cut.start < at {
			continue // inside one that is already left out
		}
		parts = append(parts, plain[at:cut.start])
		at = cut.end
	}
	return delivery.HashParts(append(parts, plain[at:])...)
}

package audit

import (
	"maps"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// anchored are the anchors of one scope that were not met yet.
type anchored struct {
	left      map[int64]dedupe.Sum
	low, high int64 // numbers of the first and the last one; 0: there is none
}

// anchoredOf picks a scope's anchors.
func anchoredOf(v *visit, anchors []Anchor) anchored {
	set := anchored{left: map[int64]dedupe.Sum{}}
	for _, a := range anchors {
		if a.Scope != v.summary.Scope {
			continue
		}
		if before, twice := set.left[a.Number]; twice && before != a.Sum {
			v.found(ofCheckpoint(AnchorMismatch, a.Scope, a.Number, "two anchors of this checkpoint differ"))
		}
		set.left[a.Number] = a.Sum
		set.high = max(set.high, a.Number)
		if set.low == 0 || a.Number < set.low {
			set.low = a.Number
		}
	}
	return set
}

// meet compares a checkpoint with what was seen of it before.
func (s *anchored) meet(v *visit, c *dedupe.Checkpoint) {
	seen, known := s.left[c.Number]
	delete(s.left, c.Number)
	switch {
	case !known && c.Number > s.low && c.Number < s.high:
		v.summary.Unanchored++
	case !known:
	case seen != c.Sum:
		v.found(ofCheckpoint(AnchorMismatch, c.Scope, c.Number, "it is another one than the anchor's"))
	default:
		v.summary.Anchored++
	}
}

// end tells of anchors that no checkpoint met. Those before the chain's beginning are no longer needed.
func (s *anchored) end(v *visit) {
	for _, number := range slices.Sorted(maps.Keys(s.left)) {
		if number < v.summary.BeginsAt {
			v.summary.Retired++
			continue
		}
		v.found(ofCheckpoint(AnchorMismatch, v.summary.Scope, number, "there is no such checkpoint"))
	}
}

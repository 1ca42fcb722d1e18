package audit

import (
	"maps"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// anchored are the anchors of one scope that were not met yet.
type anchored struct {
	left      map[int64]dedupe.Sum
	differ    map[int64]bool // several anchors of it say different sums
	met       bool           // an anchor was of a checkpoint that is there
	low, high int64          // numbers of the first and the last one; 0: there is none
}

// anchoredOf picks a scope's anchors.
func anchoredOf(v *visit, anchors []Anchor) anchored {
	set := anchored{left: map[int64]dedupe.Sum{}, differ: map[int64]bool{}}
	for _, a := range anchors {
		if a.Scope != v.summary.Scope {
			continue
		}
		if before, twice := set.left[a.Number]; twice && before != a.Sum {
			set.differ[a.Number] = true
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
	s.met = s.met || known
	switch {
	case !known && c.Number > s.low && c.Number < s.high:
		v.summary.Unanchored++
	case !known:
	case s.differ[c.Number]:
		v.found(ofCheckpoint(AnchorMismatch, c.Scope, c.Number, "two anchors of this checkpoint differ"))
	case seen != c.Sum:
		v.found(ofCheckpoint(AnchorMismatch, c.Scope, c.Number, "it is another one than the anchor's"))
	default:
		v.summary.Anchored++
	}
}

// end tells of anchors that no checkpoint met. Those before the chain's beginning are no longer needed, and where all were so
// already when the audit began, at the checkpoint that was the oldest needed then, nothing shows that the chain is the one
// that was seen.
func (s *anchored) end(v *visit, oldest int64) {
	useless := len(s.left) > 0 && !s.met
	for _, number := range slices.Sorted(maps.Keys(s.left)) {
		useless = useless && number < oldest
		if number < v.summary.BeginsAt {
			v.summary.Retired++
			continue
		}
		v.found(ofCheckpoint(AnchorMismatch, v.summary.Scope, number, "there is no such checkpoint"))
	}
	if useless && v.summary.Checkpoints > 0 {
		v.found(ofCheckpoint(AnchorsRetired, v.summary.Scope, v.summary.BeginsAt,
			"the chain begins behind every anchor: nothing shows that it is the one that was seen before. Give a newer one"))
	}
}

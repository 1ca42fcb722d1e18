package verify

import "time"

// bodyStamp is a signed time inside a JSON body.
type bodyStamp struct {
	tree      *pointerTree
	slot      int
	unit      string
	tolerance time.Duration
}

func newBodyStamp(pointer, unit string, tolerance time.Duration) (*bodyStamp, error) {
	tree := &pointerTree{}
	slot, err := tree.add(pointer)
	return &bodyStamp{tree, slot, unit, tolerance}, err
}

// check reads the time of a body whose signature verified.
func (s *bodyStamp) check(body []byte, now time.Time) (time.Time, *Rejection) {
	found, _, err := s.tree.scan(body)
	if err != nil {
		return time.Time{}, reject(TimestampMissing)
	}
	if found[s.slot].repeated {
		return time.Time{}, reject(TimestampRepeated)
	}
	value, state := found[s.slot].scalar()
	switch state {
	case missing:
		return time.Time{}, reject(TimestampMissing)
	case malformed:
		return time.Time{}, reject(TimestampMalformed)
	}
	at, rejection := parseTime(value, s.unit)
	if rejection != nil {
		return at, rejection
	}
	return at, checkTime(at, now, s.tolerance)
}

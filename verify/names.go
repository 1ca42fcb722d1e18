package verify

import "net/http"

// names are the headers of a scheme. Some senders have two sets of them; a delivery carries one complete set, and sets are
// never mixed.
type names struct {
	signatures []string // at least one of them has to be there
	timestamp  string   // empty: none, or in the signature header
	id         string   // of the {id} placeholder; empty: none
}

func (n names) complete(h http.Header) bool {
	return n.signed(h) && (n.timestamp == "" || has(h, n.timestamp)) && (n.id == "" || has(h, n.id))
}

func (n names) signed(h http.Header) bool {
	for _, name := range n.signatures {
		if has(h, name) {
			return true
		}
	}
	return false
}

// variant is the set of headers that a delivery carries.
func (s *declared) variant(h http.Header) (names, *Rejection) {
	missing := reject(SignatureMissing)
	for _, n := range s.variants {
		switch {
		case n.complete(h):
			return n, nil
		case !n.signed(h):
		case n.timestamp != "" && !has(h, n.timestamp):
			missing = reject(TimestampMissing)
		default:
			missing = reject(SignedPartMissing)
		}
	}
	return names{}, missing
}

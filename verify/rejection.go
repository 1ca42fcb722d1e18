package verify

import "fmt"

// Reason tells why a delivery was rejected, from a closed set. It may be logged and counted; the sender never learns it.
type Reason string

// Rejection is the error of a delivery that proved nothing, or no usable event. It never carries a secret, a signature or
// a part of the body.
type Rejection struct {
	Reason Reason
	// Event tells that the signature verified and the event is at fault (missing or malformed ID, type or body): the
	// sender's mistake, not a stranger's.
	Event bool
	// Hint explains the rejection to the person who runs sidecar verify.
	Hint string
}

// Error is the reason, and the hint where there is one.
func (r *Rejection) Error() string {
	if r.Hint == "" {
		return string(r.Reason)
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Hint)
}

package verify

import (
	"errors"
	"fmt"
)

// ErrUnavailable tells that a delivery could not be judged, since the sender's certificate could not be fetched. It may
// be genuine, and the sender should try again.
var ErrUnavailable = errors.New("the sender's certificate could not be fetched")

// Reason tells why a delivery was rejected, from a closed set. It may be logged and counted; the sender never learns it.
type Reason string

// The reasons that concern the signature: the delivery proved nothing.
const (
	SignatureMissing       Reason = "signature_missing"
	SignatureRepeated      Reason = "signature_repeated"
	SignatureMalformed     Reason = "signature_malformed"
	SignatureListTooLong   Reason = "signature_list_too_long"
	SignatureMismatch      Reason = "signature_mismatch"
	SignedPartMissing      Reason = "signed_part_missing"   // a header that the signature covers is absent
	SignedPartRepeated     Reason = "signed_part_repeated"  // or there twice
	SignedPartAmbiguous    Reason = "signed_part_ambiguous" // or could be cut at another place
	TimestampMissing       Reason = "timestamp_missing"
	TimestampRepeated      Reason = "timestamp_repeated"
	TimestampMalformed     Reason = "timestamp_malformed"
	TimestampOutOfBounds   Reason = "timestamp_out_of_tolerance"
	CredentialUnknown      Reason = "credential_unknown" // no live credential has the name that the delivery gives
	AlgorithmRefused       Reason = "algorithm_refused"
	BodyRefused            Reason = "body_refused" // the sender never signs such a body as a delivery
	BodyNotCovered         Reason = "body_not_covered"
	CertificateRefused     Reason = "certificate_refused"
	CertificateUnavailable Reason = "certificate_unavailable"
	RequirementUnmet       Reason = "requirement_unmet"
	PublicURLMissing       Reason = "public_url_missing"
)

// The reasons that concern the event: the signature verified.
const (
	EventIDMissing     Reason = "event_id_missing"
	EventIDMalformed   Reason = "event_id_malformed"
	EventTypeMissing   Reason = "event_type_missing"
	EventTypeMalformed Reason = "event_type_malformed"
	EventTypeRefused   Reason = "event_type_refused"
	BodyMalformed      Reason = "body_malformed"
)

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

func reject(reason Reason) *Rejection { return &Rejection{Reason: reason} }

func rejectEvent(reason Reason) *Rejection { return &Rejection{Reason: reason, Event: true} }

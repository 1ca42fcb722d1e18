package verify

import (
	"crypto/sha256"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Proof is what a delivery has shown: who sent it, and which event it carries.
type Proof struct {
	Scope        delivery.Scope // of the integration whose credential verified
	CredentialID string         // non-secret name of the credential that verified
	Retiring     bool           // the credential is on its way out; its use is counted
	SignedAt     time.Time      // the signed timestamp; zero where the scheme has none

	EventID     delivery.EventID
	IDSigned    bool              // the signature covers the event ID
	EventType   string            // empty where the sender names none; else of the form that delivery.CheckToken accepts
	Object      string            // optional business reference
	Fingerprint [sha256.Size]byte // of what makes two deliveries the same event's
	// Binding is set where the ID is not signed and unsigned_id is bind: a digest of what the signature does cover,
	// together with the event type as received. Two deliveries with one binding are one event. Zero: not bound.
	Binding [sha256.Size]byte

	// Control is set for a sender's control message (a handshake), which is no event: the event fields are empty.
	Control *Control
}

// Bound tells whether the event ID is bound to the signed content.
func (p Proof) Bound() bool { return p.Binding != [sha256.Size]byte{} }

// Control is what to do with a sender's control message.
type Control struct {
	Name string // which message, from a closed set
	// Answer is sent back; nil passes the message to the application, which is never deduplicated.
	Answer *delivery.Response
}

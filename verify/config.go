package verify

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Config is one integration as the verifier sees it. What is left zero is taken from the provider's preset.
type Config struct {
	Scope       delivery.Scope
	Provider    string // name of a preset, or "hmac"
	Credentials []Credential
	HMAC        *HMAC               // the declared scheme, for provider hmac only
	Event       Event               // where the event's ID, type and object are
	Require     map[string][]string // JSON pointer of a signed field to the values allowed
	PublicURL   string              // origin that the sender calls, for schemes that sign the URL
	UnsignedID  UnsignedID
	Handshake   Handshake
	Fingerprint Fingerprint
	// SignatureOnly asks for verdicts on signatures only, as sidecar verify gives them: an event ID, require and public_url
	// may be missing. Never set it for a route.
	SignatureOnly bool
	Fetch         *http.Client // for schemes that fetch the sender's certificate; nil: http.DefaultTransport with limits
}

// Credential is one key of an integration.
type Credential struct {
	ID        string
	Secret    []byte // as the sender's dashboard shows it; empty only with FetchSender
	Fetch     bool   // the public key is fetched from the sender's own host (secret: {fetch: sender})
	Status    Status
	NotBefore time.Time // zero: always
	NotAfter  time.Time // zero: for ever
}

// Status is where a credential is in its life.
type Status string

// The statuses of a credential.
const (
	Active   Status = "active"
	Retiring Status = "retiring" // verifies too; its use is counted
	Revoked  Status = "revoked"
)

// HMAC declares a scheme. See docs/configuration.md for the meaning of each field.
type HMAC struct {
	Algorithm      string // sha1, sha256, sha512
	Header         string // of the signature
	Prefix         string // before the signature
	Encoding       string // hex, base64
	Signed         string // template: {timestamp} {id} {body} {url} {method} {header:NAME}
	Timestamp      Timestamp
	Tolerance      time.Duration // both sides
	SecretEncoding string        // raw, hex, base64
	KeyID          string        // header that names the credential; empty: by trial
}

// Timestamp is where a signed time is found.
type Timestamp struct {
	Header string // empty: none
	Unit   string // s, ms
}

// Event is where an event's parts are found.
type Event struct {
	ID     Source
	Type   Source
	Types  []string // allowed types; empty: any
	Object Source
}

// Source names one place in a delivery. At most one of its fields is set.
type Source struct {
	Header string
	JSON   string // JSON pointer into the body
	Form   string // field of a form body
	Hash   string // "body"
	Join   []Source
}

// UnsignedID says what an ID is worth that the signature does not cover.
type UnsignedID string

// The rules for unsigned IDs; empty takes the preset's.
const (
	Bind  UnsignedID = "bind"  // bound to what the signature does cover
	Trust UnsignedID = "trust" // taken as it is
)

// Handshake says who answers the sender's control messages.
type Handshake string

// The rules for control messages; empty takes the preset's.
const (
	HandshakePass   Handshake = "pass"
	HandshakeAnswer Handshake = "answer"
	HandshakeOff    Handshake = "off"
)

// Fingerprint says what two deliveries of one event have in common. Zero takes the preset's; Body is the whole body.
type Fingerprint struct {
	Body    bool
	Include []string // JSON pointers
	Exclude []string // JSON pointers
}

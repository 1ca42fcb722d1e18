package verify

import (
	"errors"
	"fmt"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Preset is what is known of one sender. The configuration fills in from it whatever is not written; zero means that
// nothing is known and the general default stands.
type Preset struct {
	Name  string // as in provider:
	Title string // for people

	Methods        []string
	MaxBody        int64         // bytes
	SenderWindow   time.Duration // how long after an event the sender may still deliver it
	AckDeadline    time.Duration // how long the sender waits for an answer
	Retries        bool          // the sender tries again by itself
	InFlightStatus int           // 503, or what this sender understands better as "try again"
	UnsignedID     UnsignedID
	Handshake      Handshake
	Controls       []string // control messages that are recognised
	Fingerprint    Fingerprint

	EventID   Source
	IDSigned  bool // the signature covers EventID
	EventType Source
	Object    Source
	Choose    string // set where no event ID can be told by default: what the operator has to choose

	Tolerance      time.Duration // of the signed time on both sides; 0: no time is signed, or any time is accepted
	Symmetric      bool          // a shared secret: whoever verifies can sign too
	SignedInBody   bool          // the signature is part of the body: SignBody, not Sign
	NeedsPublicURL bool
	Require        []string // JSON pointers, one of which must be in require

	Signed   string   // what is signed, for people
	Secret   string   // what an operator pastes, for people
	Weak     []string // what stays weak even when all is set up well
	Advice   []string // what an operator should do
	Sources  []string
	Reviewed string // date on which the sources were read

	build      func(Config) (scheme, error)
	otherIDs   []Source // after EventID, where that is missing
	otherTypes []Source
	identify   func(*document) (delivery.EventID, *Rejection) // where an ID is derived from a batch; it must be signed
	opaque     bool                                           // bodies may be no JSON: the next source is tried then
	controls   []control
	reads      []string // JSON pointers that controls and identify read
}

// LookupPreset finds a preset by its name.
func LookupPreset(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

func (p Preset) ids() []Source {
	return append([]Source{p.EventID}, p.otherIDs...)
}

func (p Preset) kinds() []Source {
	return append([]Source{p.EventType}, p.otherTypes...)
}

// complete fills in what the configuration leaves open.
func (p Preset) complete(cfg Config) Config {
	if cfg.UnsignedID == "" {
		cfg.UnsignedID = p.UnsignedID
	}
	if cfg.Handshake == "" {
		cfg.Handshake = p.Handshake
	}
	f := cfg.Fingerprint
	if !f.Body && len(f.Include)+len(f.Exclude) == 0 {
		cfg.Fingerprint = p.Fingerprint
	}
	return cfg
}

// check tells what is wrong with the fields that no other part looks at.
func (c Config) check(p Preset) error {
	var faults []error
	if _, err := delivery.ParseScope(string(c.Scope)); err != nil {
		faults = append(faults, field("scope", err))
	}
	if c.HMAC != nil && p.Name != "hmac" {
		faults = append(faults, fmt.Errorf("hmac: only with provider hmac, not %s", p.Name))
	}
	if c.PublicURL == "" && p.NeedsPublicURL && !c.SignatureOnly {
		faults = append(faults, fmt.Errorf("public_url: missing; %s signs the URL it calls", p.Name))
	}
	faults = append(faults,
		field("public_url", checkOrigin(c.PublicURL)),
		field("unsigned_id", oneOf(string(c.UnsignedID), string(Bind), string(Trust))),
		field("handshake", oneOf(string(c.Handshake), string(HandshakePass), string(HandshakeAnswer), string(HandshakeOff))))
	return errors.Join(faults...)
}

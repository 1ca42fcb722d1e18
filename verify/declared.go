package verify

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// declared is a scheme that is wholly data: an HMAC over a template, or an Ed25519 signature over the same bytes.
type declared struct {
	algorithm string
	size      int // of a MAC
	variants  []names
	syntax    syntax
	template  template
	unit      string
	tolerance time.Duration
	origin    string   // of the public URL
	keyID     string   // header that names the credential; empty: by trial
	demands   []demand // headers that must have one value
	object    bool     // the body must be a JSON object: shorter texts are signed for anybody, as challenges
	timeField string   // JSON pointer to a signed time in the body, and its unit
	timeUnit  string
	bodyTime  *bodyStamp // reads it
	secret    func(secret []byte) (any, error)
}

// demand is a header that must have exactly this value.
type demand struct{ name, value string }

func (s *declared) key(secret []byte) (any, error) { return s.secret(secret) }

func (s *declared) presented(h http.Header) bool {
	for _, n := range s.variants {
		if n.complete(h) {
			return true
		}
	}
	return false
}

func (s *declared) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	n, rejection := s.variant(d.Header)
	if rejection != nil {
		return evidence{}, rejection
	}
	found, rejection := s.read(d.Header, n)
	if rejection != nil {
		return evidence{}, rejection
	}
	at, rejection := s.time(found.stamp, now)
	if rejection != nil {
		return evidence{}, rejection
	}
	if s.object && !isJSON(d.Body) {
		return evidence{}, reject(BodyRefused)
	}
	message, rejection := s.message(d, n, found.stamp)
	if rejection != nil {
		return evidence{}, rejection
	}
	by, rejection := s.find(d.Header, now, keys, message, found)
	if rejection != nil {
		return evidence{}, rejection
	}
	if s.bodyTime != nil {
		if at, rejection = s.bodyTime.check(d.Body, now); rejection != nil {
			return evidence{}, rejection
		}
	}
	return evidence{by: by, at: at, covered: s.covered(message), idName: n.id}, nil
}

func (s *declared) time(stamp string, now time.Time) (time.Time, *Rejection) {
	if s.unit == "" {
		return time.Time{}, nil
	}
	at, rejection := parseTime(stamp, s.unit)
	if rejection != nil {
		return at, rejection
	}
	return at, checkTime(at, now, s.tolerance)
}

func (s *declared) find(h http.Header, now time.Time, keys ring, message [][]byte, found signed) (*credential, *Rejection) {
	wanted := ""
	if s.keyID != "" {
		name, rejection := one(h, s.keyID, CredentialUnknown, CredentialUnknown)
		if rejection != nil {
			return nil, rejection
		}
		wanted = name
	}
	fault := CredentialUnknown
	for c := range keys.live(now) {
		if wanted != "" && c.ID != wanted {
			continue
		}
		fault = SignatureMismatch
		if found.by(c, message) {
			return c, nil
		}
	}
	return nil, reject(fault)
}

// by tells whether one of the signatures is the credential's.
func (s signed) by(c *credential, message [][]byte) bool {
	switch key := c.key.(type) {
	case macHolder:
		for _, k := range key.macs() {
			if len(s.macs) > 0 && k.matches(message, s.macs) {
				return true
			}
		}
	case ed25519.PublicKey:
		whole := bytes.Join(message, nil)
		for _, signature := range s.public {
			if ed25519.Verify(key, whole, signature) {
				return true
			}
		}
	}
	return false
}

func (s *declared) covered(message [][]byte) [][]byte {
	out := make([][]byte, 0, len(message))
	for i, p := range s.template {
		if p.kind != pieceTimestamp {
			out = append(out, message[i])
		}
	}
	return out
}

func (s *declared) covers(source Source) bool {
	if source.Header != "" {
		return s.coversHeader(http.CanonicalHeaderKey(source.Header))
	}
	return s.template.has(pieceBody)
}

func (s *declared) coversHeader(name string) bool {
	if s.template.hasHeader(name) {
		return true
	}
	return s.template.has(pieceID) && len(s.variants) > 0 && s.variants[0].id == name
}

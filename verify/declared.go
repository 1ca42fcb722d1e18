package verify

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"strings"
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

// names are the headers of a scheme. Some senders have two sets of them; a delivery carries one complete set, and sets are
// never mixed.
type names struct {
	signatures []string // at least one of them has to be there
	timestamp  string   // empty: none, or in the signature header
	id         string   // of the {id} placeholder; empty: none
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

// read takes the signatures and the time out of the headers.
func (s *declared) read(h http.Header, n names) (signed, *Rejection) {
	for _, must := range s.demands {
		value, rejection := one(h, must.name, AlgorithmRefused, AlgorithmRefused)
		if rejection != nil || value != must.value {
			return signed{}, reject(AlgorithmRefused)
		}
	}
	found, rejection := s.signatures(h, n)
	if rejection == nil && n.timestamp != "" {
		found.stamp, rejection = one(h, n.timestamp, TimestampMissing, TimestampRepeated)
	}
	return found, rejection
}

// signatures joins the signatures of all headers that may hold one. A malformed one counts as long as no other is good.
func (s *declared) signatures(h http.Header, n names) (signed, *Rejection) {
	var all signed
	var fault *Rejection
	for _, name := range n.signatures {
		if len(h[name]) == 0 {
			continue
		}
		value, rejection := one(h, name, SignatureMissing, SignatureRepeated)
		if rejection == nil {
			var found signed
			found, rejection = s.syntax.parse(value, s.size)
			all.macs = append(all.macs, found.macs...)
			all.public = append(all.public, found.public...)
			all.stamp = found.stamp
		}
		if rejection != nil && rejection.Reason != SignatureMalformed {
			return all, rejection
		}
		if rejection != nil {
			fault = rejection
		}
	}
	if len(all.macs)+len(all.public) == 0 {
		return all, fault
	}
	return all, nil
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

// message is what the sender must have signed, one part for each piece of the template.
func (s *declared) message(d *delivery.Delivery, n names, stamp string) ([][]byte, *Rejection) {
	out := make([][]byte, 0, len(s.template)+1)
	for i, p := range s.template {
		switch p.kind {
		case literal:
			out = append(out, []byte(p.text))
		case pieceTimestamp:
			out = append(out, []byte(stamp))
		case pieceBody:
			out = append(out, d.Body)
		case pieceURL:
			if s.origin == "" {
				return nil, reject(PublicURLMissing)
			}
			out = append(out, []byte(s.origin+d.Target))
		case pieceMethod:
			out = append(out, []byte(d.Method))
		default:
			value, rejection := s.header(d.Header, n, i)
			if rejection != nil {
				return nil, rejection
			}
			out = append(out, []byte(value))
		}
	}
	return out, nil
}

func (s *declared) header(h http.Header, n names, i int) (string, *Rejection) {
	name := s.template[i].text
	if s.template[i].kind == pieceID {
		name = n.id
	}
	value, rejection := one(h, name, SignedPartMissing, SignedPartRepeated)
	if rejection != nil {
		return "", rejection
	}
	for _, stop := range s.template.stops(i) {
		if strings.Contains(value, stop) {
			return "", reject(SignedPartAmbiguous)
		}
	}
	return value, nil
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
	out := message[:0:0]
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

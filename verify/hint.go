package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// attempt is one way in which a rejected delivery might have verified after all.
type attempt struct {
	scheme   scheme
	keys     ring
	delivery *delivery.Delivery
	now      time.Time
}

func (a attempt) verifies() bool {
	_, rejection := a.scheme.verify(a.delivery, a.now, a.keys)
	return rejection == nil
}

// hint looks for the mistake behind a rejection. Its text tells what to change, and never what anything holds.
func (v *Verifier) hint(d *delivery.Delivery, now time.Time, rejection *Rejection) string {
	a := attempt{v.scheme, v.keys, d, now}
	switch rejection.Reason {
	case SignatureMissing, SignedPartMissing:
		return v.hintMissing(d)
	case PublicURLMissing:
		return "the sender signs the URL it calls: set public_url (--public-url) to its origin"
	case TimestampOutOfBounds:
		return a.hintClock()
	case TimestampMalformed, TimestampMissing:
		return "the signed time is missing, or not in the unit that the scheme says (seconds have 10 digits, milliseconds 13)"
	case RequirementUnmet:
		return "a field that require names is missing or has none of the allowed values"
	case BodyNotCovered:
		return "the signature does not cover the body, so the body could be anybody's"
	case AlgorithmRefused:
		return "the sender used an older or another algorithm than this scheme accepts"
	case SignatureRepeated, SignedPartRepeated, TimestampRepeated:
		return "a header of the signature is there twice; was the request captured behind a proxy that adds headers?"
	case CertificateRefused:
		return "the certificate's address is not the sender's own, or the certificate is not valid at the time of judgement"
	case CertificateUnavailable:
		return "the sender's certificate could not be fetched from its own host; a pinned one needs no fetch"
	case BodyRefused:
		return "the body is of a form that the sender never signs as a delivery: a bare challenge, or compressed"
	case SignedPartAmbiguous:
		return "a signed header holds the separator of the signed text, so that it could be cut in two ways"
	case SignatureListTooLong:
		return "the delivery holds more signatures than any sender sends"
	case SignatureMalformed:
		return a.hintForm()
	case CredentialUnknown, SignatureMismatch:
		return a.hintMismatch()
	}
	return ""
}

func (v *Verifier) hintMissing(d *delivery.Delivery) string {
	var others []string
	for _, p := range Presets() {
		if p.Name == v.preset.Name {
			continue
		}
		other, err := p.build(Config{HMAC: &HMAC{}})
		if err == nil && !other.presented(nil) && other.presented(d.Header) {
			others = append(others, p.Name)
		}
	}
	hint := "there is no signature where " + v.preset.Title + " puts it: " + v.preset.Signed
	if len(others) > 0 {
		hint += "; the headers look like provider " + strings.Join(others, " or ")
	}
	return hint
}

// hintClock tells how far off the signed time is, and whether it is the only fault.
func (a attempt) hintClock() string {
	at := a.signedAt()
	if at.IsZero() {
		return "the signed time is too far from the time of judgement"
	}
	distance := a.now.Sub(at).Round(time.Second)
	side := "before"
	if distance < 0 {
		distance, side = -distance, "after"
	}
	hint := fmt.Sprintf("signed %s %s the time of judgement", distance, side)
	then := a
	then.now = at
	if then.verifies() {
		return hint + "; the signature itself is good: a clock is wrong, the delivery was held up, or --at is missing"
	}
	return hint + "; and the signature does not verify at that time either: " + then.hintMismatch()
}

// signedAt is the signed time of a delivery that may not verify.
func (a attempt) signedAt() time.Time {
	s := declaredOf(a.scheme)
	if s == nil {
		return time.Time{}
	}
	if s.bodyTime != nil {
		at, _ := s.bodyTime.check(a.delivery.Body, a.now)
		return at
	}
	n, rejection := s.variant(a.delivery.Header)
	if rejection != nil {
		return time.Time{}
	}
	found, rejection := s.read(a.delivery.Header, n)
	if rejection != nil {
		return time.Time{}
	}
	at, _ := parseTime(found.stamp, s.unit)
	return at
}

// declaredOf is the declared part of a scheme; nil where it has none.
func declaredOf(s scheme) *declared {
	switch s := s.(type) {
	case *declared:
		return s
	case hubSpot:
		return s.declared
	}
	return nil
}

// hintForm looks for the encoding that a signature has in place of the expected one.
func (a attempt) hintForm() string {
	s := declaredOf(a.scheme)
	if s == nil {
		return "the signature is not of the form that the scheme says: cut short, or encoded otherwise"
	}
	for _, encoding := range []string{"hex", "base64"} {
		for _, prefix := range []string{s.syntax.prefix, "", "sha1=", "sha256=", "sha512=", "v0=", "v1="} {
			other := *s
			other.syntax.encoding, other.syntax.prefix = encoding, prefix
			n, rejection := other.variant(a.delivery.Header)
			if rejection != nil {
				continue
			}
			if _, rejection = other.signatures(a.delivery.Header, n); rejection == nil {
				return fmt.Sprintf("the header holds %s behind the prefix %q, the scheme says %s behind %q",
					encoding, prefix, s.syntax.encoding, s.syntax.prefix)
			}
		}
	}
	return fmt.Sprintf("the header holds no %s signature of %d bytes behind %q: cut short, of another algorithm, or of another scheme",
		s.syntax.encoding, s.size, s.syntax.prefix)
}

// hintMismatch tries what usually goes wrong: a credential that is no longer live, the secret's encoding, the body's
// bytes, the URL, and for declared schemes what is signed.
func (a attempt) hintMismatch() string {
	if hint := a.hintDead(); hint != "" {
		return hint
	}
	for _, keyed := range a.secrets() {
		for _, sent := range keyed.bodies() {
			for _, called := range sent.urls() {
				if called.verifies() {
					return hintOf(keyed.why, sent.why, called.why)
				}
			}
		}
	}
	if hint := a.hintTemplate(); hint != "" {
		return hint
	}
	return "no credential made this signature over these bytes, and no other encoding of the secret, the body or the URL did: " +
		"compare the secret's fingerprint, and look for whatever changes bodies on the way"
}

func hintOf(parts ...string) string {
	found := slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return "it would verify if " + strings.Join(found, ", and ")
}

// hintDead tries the credentials that are not live.
func (a attempt) hintDead() string {
	for _, c := range a.keys {
		if c.live(a.now) || c.key == nil {
			continue
		}
		revived := *c
		revived.Status, revived.NotBefore, revived.NotAfter = Active, time.Time{}, time.Time{}
		one := a
		one.keys = ring{&revived}
		if one.verifies() {
			return fmt.Sprintf("credential %s made it, which is not valid at the time of judgement", c.ID)
		}
	}
	return ""
}

// hintTemplate tries other texts that senders sign, for schemes that an operator declared.
func (a attempt) hintTemplate() string {
	s := declaredOf(a.scheme)
	if s == nil {
		return ""
	}
	texts := []string{"{body}"}
	if s.unit != "" && s.bodyTime == nil {
		texts = append(texts, "{timestamp}.{body}", "{timestamp}{body}", "{timestamp}:{body}", "v0:{timestamp}:{body}", "{body}{timestamp}")
	}
	for _, text := range texts {
		parsed, err := parseTemplate(text)
		if err != nil {
			continue
		}
		other := *s
		other.template = parsed
		one := a
		one.scheme = &other
		if one.verifies() {
			return "the sender signs " + text + ", which is not what the scheme says"
		}
	}
	return ""
}

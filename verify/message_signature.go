package verify

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// messageSignature is a narrow profile of HTTP Message Signatures (RFC 9421): a signature counts only if it covers
// Content-Digest (RFC 9530), whose hash must be the body's, and says when it was made.
type messageSignature struct {
	origin string
}

const messageTolerance = 5 * time.Minute

func messageSignaturePreset() Preset {
	return Preset{
		Name: "rfc9421", Title: "HTTP Message Signatures (RFC 9421), narrow profile",
		SenderWindow: 72 * time.Hour, Retries: true,
		EventID: Source{Header: "Webhook-Id"}, EventType: Source{JSON: "/type"},
		Tolerance: messageTolerance, Symmetric: true, NeedsPublicURL: true,
		Signed: "the components that the sender lists, content-digest among them, and the time of creation",
		Secret: "a public key in PEM (RSA for rsa-pss-sha512, P-256, P-384, Ed25519), or base64 of a shared secret for hmac-sha256",
		Weak: []string{
			"The event ID is signed only where the sender lists its header as a component; otherwise it is bound to the body.",
			"Of the components only content-digest is demanded. A signature without @method, @authority and @path verifies on every route " +
				"with the same key, and with any target: give each route a key of its own.",
		},
		Advice: []string{
			"Let the sender cover @method, @authority, @path, content-digest and the header of the event ID.",
			"public_url must be the origin as the sender calls it.",
		},
		Sources:  []string{"RFC 9421", "RFC 9530"},
		Reviewed: reviewed,
		build:    func(cfg Config) (scheme, error) { return &messageSignature{cfg.PublicURL}, nil },
	}
}

func (s *messageSignature) key(secret []byte) (any, error) { return messageKey(secret) }

func (s *messageSignature) presented(h http.Header) bool {
	return has(h, "Signature") && has(h, "Signature-Input") && has(h, "Content-Digest")
}

// covers knows what every accepted signature covers; headers depend on the delivery.
func (s *messageSignature) covers(source Source) bool { return source.Header == "" }

func (s *messageSignature) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	inputs, signatures, rejection := messageFields(d.Header)
	if rejection != nil {
		return evidence{}, rejection
	}
	fault := reject(BodyNotCovered)
	for _, input := range inputs {
		signature, found := signatures[input.label]
		if !found {
			continue
		}
		made, rejection := s.one(d, now, keys, input, signature)
		if rejection == nil {
			return made, nil
		}
		fault = rejection
	}
	return evidence{}, fault
}

func messageFields(h http.Header) ([]fieldItem, map[string][]byte, *Rejection) {
	input, rejection := one(h, "Signature-Input", SignatureMissing, SignatureRepeated)
	if rejection != nil {
		return nil, nil, rejection
	}
	text, rejection := one(h, "Signature", SignatureMissing, SignatureRepeated)
	if rejection != nil {
		return nil, nil, rejection
	}
	if len(input) > 8192 || len(text) > 16384 {
		return nil, nil, reject(SignatureListTooLong)
	}
	inputs, ok := dictionary(input, innerList)
	members, good := dictionary(text, sequence)
	if !ok || !good {
		return nil, nil, reject(SignatureMalformed)
	}
	signatures := map[string][]byte{}
	for _, member := range members {
		signatures[member.label] = member.bytes
	}
	return inputs, signatures, nil
}

// one judges one signature of a message.
func (s *messageSignature) one(d *delivery.Delivery, now time.Time, keys ring, input fieldItem, signature []byte) (evidence, *Rejection) {
	at, rejection := messageTime(input, now)
	if rejection != nil {
		return evidence{}, rejection
	}
	if !covered(input, "content-digest") {
		return evidence{}, reject(BodyNotCovered)
	}
	if rejection := checkDigest(d); rejection != nil {
		return evidence{}, rejection
	}
	base, rejection := s.base(d, input)
	if rejection != nil {
		return evidence{}, rejection
	}
	fault := CredentialUnknown
	for c := range keys.live(now) {
		verified, algorithm := checkMessage(c.key, base, signature)
		if alg := input.parameters["alg"]; alg != "" && alg != algorithm {
			fault = AlgorithmRefused
			continue
		}
		if verified {
			return evidence{by: c, at: at, covered: [][]byte{d.Body}, headers: input.headers(), content: true}, nil
		}
		fault = SignatureMismatch
	}
	return evidence{}, reject(fault)
}

func covered(input fieldItem, name string) bool {
	for _, c := range input.components {
		if c.name == name {
			return true
		}
	}
	return false
}

// headers are the fields that are covered.
func (i fieldItem) headers() []string {
	var out []string
	for _, c := range i.components {
		if !strings.HasPrefix(c.name, "@") {
			out = append(out, http.CanonicalHeaderKey(c.name))
		}
	}
	return out
}

func messageTime(input fieldItem, now time.Time) (time.Time, *Rejection) {
	created, found := input.parameters["created"]
	if !found {
		return time.Time{}, reject(TimestampMissing)
	}
	at, rejection := parseTime(created, unitSeconds)
	if rejection != nil {
		return at, rejection
	}
	if _, limited := input.parameters["expires"]; limited {
		expires, ok := input.seconds("expires")
		if !ok || now.Unix() > expires {
			return at, reject(TimestampOutOfBounds)
		}
	}
	return at, checkTime(at, now, messageTolerance)
}

func (s *messageSignature) sign(d *delivery.Delivery, now time.Time, by *credential) (http.Header, error) {
	key, err := symmetric(by)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(d.Body)
	out := http.Header{}
	out.Set("Content-Digest", "sha-256=:"+encode(sum[:], "base64")+":")
	out.Set("Webhook-Id", firstOr(d.Header, "Webhook-Id", inventID))
	list := fmt.Sprintf(`("@method" "@authority" "@path" "@query" "content-digest" "webhook-id");created=%d;keyid=%q;alg="hmac-sha256"`,
		now.Unix(), by.ID)
	inputs, _ := dictionary("sig1="+list, innerList)
	copied := *d
	copied.Header = merged(d.Header, out)
	base, rejection := s.base(&copied, inputs[0])
	if rejection != nil {
		return nil, rejection
	}
	out.Set("Signature-Input", "sig1="+list)
	out.Set("Signature", "sig1=:"+encode(key.sum([][]byte{base}), "base64")+":")
	return out, nil
}

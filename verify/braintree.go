package verify

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the sender derives its keys so
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// braintree signs the form field bt_payload; the signatures are in the form as well, one for each key pair.
type braintree struct{}

// braintreeKey is a key pair of the gateway's API.
type braintreeKey struct {
	public string
	*macKey
}

// maxBraintreePayload bounds the field before it is hashed.
const maxBraintreePayload = 4 << 20

func braintreePreset() Preset {
	return Preset{
		Name: "braintree", Title: "Braintree",
		Methods:      []string{http.MethodPost, http.MethodGet},
		SenderWindow: 24 * time.Hour, Retries: true,
		IDSigned: true, Symmetric: true, SignedInBody: true,
		Signed: "the form field bt_payload; HMAC-SHA1 with the SHA-1 of the private key, in hex in the form field bt_signature",
		Secret: "JSON {\"public_key\", \"private_key\"} of the API",
		Weak:   []string{"There is no event ID: identical payloads are one event. They hold kind, time and subject.", "HMAC-SHA1 is old, though not broken."},
		Advice: []string{"Braintree checks the URL with a challenge: the application must answer it, or set handshake: answer."},
		Sources: []string{
			"github.com/braintree/braintree_python at 80b03f4 (2026-06-16) (deadline and retries are not confirmed)",
		},
		Reviewed: reviewed,
		identify: braintreeID,
		controls: []control{{name: "bt_challenge", unsigned: true, recognises: isBraintreeChallenge, answer: braintreeChallenge}},
		build:    func(Config) (scheme, error) { return braintree{}, nil },
	}
}

func (braintree) key(secret []byte) (any, error) {
	var pair struct {
		Public  string `json:"public_key"`
		Private string `json:"private_key"`
	}
	if err := strictJSON(secret, &pair); err != nil {
		return nil, err
	}
	if err := cmp.Or(checkPart("public_key", pair.Public), checkPart("private_key", pair.Private)); err != nil {
		return nil, err
	}
	derived := sha1.Sum([]byte(pair.Private)) //nolint:gosec // see above
	mac, err := newMACKey("sha1", derived[:])
	return &braintreeKey{pair.Public, mac}, err
}

func (braintree) presented(http.Header) bool { return true }

func (braintree) covers(source Source) bool { return source.Form == "bt_payload" }

func (braintree) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	pairs, rejection := braintreeField(d, "bt_signature")
	if rejection != nil {
		return evidence{}, rejection
	}
	payload, rejection := braintreeField(d, "bt_payload")
	if rejection != nil {
		return evidence{}, rejection
	}
	text := strings.TrimSuffix(payload, "\n")
	if braintreeToken(text) || len(text) > maxBraintreePayload {
		return evidence{}, reject(BodyRefused) // challenges are signed for anybody
	}
	signatures, rejection := braintreeSignatures(pairs)
	if rejection != nil {
		return evidence{}, rejection
	}
	// The line end behind the payload is lost on some ways, so that both forms count; they are one event.
	for c := range keys.live(now) {
		key := c.key.(*braintreeKey)
		given := signatures[key.public]
		for _, form := range []string{text, text + "\n"} {
			if len(given) > 0 && key.matches([][]byte{[]byte(form)}, given) {
				return evidence{by: c, covered: [][]byte{[]byte(text)}}, nil
			}
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

func braintreeField(d *delivery.Delivery, name string) (string, *Rejection) {
	value, found, repeated, broken := formField(d.Body, name)
	switch {
	case repeated:
		return "", reject(SignatureRepeated)
	case broken:
		return "", reject(SignatureMalformed)
	case !found || value == "":
		return "", reject(SignatureMissing)
	}
	return value, nil
}

// braintreeSignatures reads "public|signature&public|signature".
func braintreeSignatures(pairs string) (map[string][][]byte, *Rejection) {
	out := map[string][][]byte{}
	entries := strings.SplitN(pairs, "&", maxSignatures+1)
	if len(entries) > maxSignatures {
		return nil, reject(SignatureListTooLong)
	}
	for _, entry := range entries {
		public, text, _ := strings.Cut(entry, "|")
		if signature, ok := decodeFixed(text, "hex", sha1.Size); ok {
			out[public] = append(out[public], signature)
		}
	}
	if len(out) == 0 {
		return nil, reject(SignatureMalformed)
	}
	return out, nil
}

// braintreeID is a hash of the payload without the line end that may be lost.
func braintreeID(d *document) (delivery.EventID, *Rejection) {
	payload, state := d.field("bt_payload")
	if state != present {
		return "", rejectEvent(EventIDMissing)
	}
	return delivery.EventID(hashed([]byte(strings.TrimSuffix(payload, "\n")))), nil
}

// braintreeToken tells whether text is a challenge: 20 to 32 hex digits in lower case. A payload, which is XML in base64,
// never is.
func braintreeToken(text string) bool {
	if len(text) < 20 || len(text) > 32 {
		return false
	}
	for i := range len(text) {
		if _, ok := hexDigit(text[i]); !ok || 'A' <= text[i] && text[i] <= 'F' {
			return false
		}
	}
	return true
}

func isBraintreeChallenge(c controlRequest) bool {
	found, ok := c.challenged("bt_challenge")
	return ok && braintreeToken(found["bt_challenge"])
}

func braintreeChallenge(c controlRequest) *delivery.Response {
	found, _ := c.challenged("bt_challenge")
	by := c.signing()
	if by == nil {
		return nil
	}
	key := by.key.(*braintreeKey)
	mac := key.sum([][]byte{[]byte(found["bt_challenge"])})
	return answerText(http.StatusOK, "text/plain", key.public+"|"+hex.EncodeToString(mac))
}

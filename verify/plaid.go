package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// plaid signs a JSON Web Token that holds a hash of the body.
type plaid struct{}

// plaidKey is a pinned JSON Web Key.
type plaidKey struct {
	jwk     jose.JSONWebKey
	expired time.Time // zero: not
}

func (k *plaidKey) validity() (notBefore, notAfter time.Time) { return time.Time{}, k.expired }

const (
	plaidHeader    = "Plaid-Verification"
	plaidTolerance = 5 * time.Minute
	maxToken       = 4096
)

func plaidPreset() Preset {
	return Preset{
		Name: "plaid", Title: "Plaid",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventType: Source{JSON: "/webhook_code"}, Object: Source{JSON: "/item_id"},
		Choose: "a Plaid notification has no ID, and two of the same code for one item are identical; " +
			"use {hash: body} only if a suppressed second notification does no harm",
		Tolerance: plaidTolerance,
		Signed:    "a JSON Web Token (ES256) in Plaid-Verification, which holds the time and the body's SHA-256",
		Secret:    "the public JSON Web Key that /webhook_verification_key/get returns for the key ID in the token",
		Weak:      []string{"There is no event ID, and identical bodies are legitimate."},
		Advice:    []string{"Plaid rotates its keys: add the next one as another credential in time."},
		Sources: []string{
			"github.com/plaid/plaid-node at 49270ba", "plaid.com/docs/api/webhooks/webhook-verification (the retry window is not confirmed)",
		},
		Reviewed: reviewed,
		build:    func(Config) (scheme, error) { return plaid{}, nil },
	}
}

func (plaid) key(secret []byte) (any, error) {
	var out plaidKey
	var more struct {
		ExpiredAt *int64 `json:"expired_at"`
	}
	if out.jwk.UnmarshalJSON(secret) != nil || json.Unmarshal(secret, &more) != nil {
		return nil, errors.New("not a JSON Web Key")
	}
	public, ok := out.jwk.Key.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P256() || !out.jwk.IsPublic() {
		return nil, errors.New("not a public key on P-256")
	}
	if err := checkPart("kid", out.jwk.KeyID); err != nil {
		return nil, err
	}
	if more.ExpiredAt != nil {
		out.expired = time.Unix(*more.ExpiredAt, 0)
	}
	return &out, nil
}

func (plaid) presented(h http.Header) bool { return has(h, plaidHeader) }

func (plaid) covers(source Source) bool { return source.Header == "" }

func (plaid) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	token, kid, rejection := plaidToken(d.Header)
	if rejection != nil {
		return evidence{}, rejection
	}
	fault := CredentialUnknown
	for c := range keys.live(now) {
		key := c.key.(*plaidKey)
		if key.jwk.KeyID != kid {
			continue
		}
		fault = SignatureMismatch
		if claims, err := token.Verify(key.jwk.Key); err == nil {
			at, rejection := plaidClaims(claims, d.Body, now)
			return evidence{by: c, at: at, covered: [][]byte{d.Body}}, rejection
		}
	}
	return evidence{}, reject(fault)
}

// plaidToken reads the token. ES256 is the only algorithm, and each part has one spelling.
func plaidToken(h http.Header) (*jose.JSONWebSignature, string, *Rejection) {
	text, rejection := one(h, plaidHeader, SignatureMissing, SignatureRepeated)
	if rejection != nil {
		return nil, "", rejection
	}
	if len(text) > maxToken || strings.Count(text, ".") != 2 {
		return nil, "", reject(SignatureMalformed)
	}
	for _, part := range strings.Split(text, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return nil, "", reject(SignatureMalformed)
		}
	}
	token, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || len(token.Signatures) != 1 {
		return nil, "", reject(AlgorithmRefused)
	}
	return token, token.Signatures[0].Protected.KeyID, nil
}

func plaidClaims(payload, body []byte, now time.Time) (time.Time, *Rejection) {
	tree := items("/iat", "/request_body_sha256")
	found, _, err := tree.scan(payload)
	if err != nil {
		return time.Time{}, reject(SignatureMalformed)
	}
	stamp, state := found[0].scalar()
	if state != present {
		return time.Time{}, reject(TimestampMissing)
	}
	at, rejection := parseTime(stamp, unitSeconds)
	if rejection == nil {
		rejection = checkTime(at, now, plaidTolerance)
	}
	if rejection != nil {
		return at, rejection
	}
	hash, state := found[1].scalar()
	sum := sha256.Sum256(body)
	if state != present || !hmac.Equal([]byte(hash), []byte(hex.EncodeToString(sum[:]))) {
		return at, reject(SignatureMismatch)
	}
	return at, nil
}

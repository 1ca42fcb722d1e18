package verify

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// token is the weakest scheme: a header holds the secret itself. It shows who sent a delivery and covers nothing of it.
type token struct {
	header string // canonical
	read   func(secret []byte) ([]byte, error)
}

// tokenKey is the hash of what the header must hold.
type tokenKey [sha256.Size]byte

func (s *token) key(secret []byte) (any, error) {
	value, err := s.read(secret)
	return tokenKey(sha256.Sum256(value)), err
}

func (s *token) presented(h http.Header) bool { return has(h, s.header) }

func (s *token) covers(Source) bool { return false }

func (s *token) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	value, rejection := one(d.Header, s.header, SignatureMissing, SignatureRepeated)
	if rejection != nil {
		return evidence{}, rejection
	}
	given := sha256.Sum256([]byte(value))
	for c := range keys.live(now) {
		want := c.key.(tokenKey)
		if subtle.ConstantTimeCompare(given[:], want[:]) == 1 {
			return evidence{by: c}, nil
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

func (s *token) sign(_ *delivery.Delivery, _ time.Time, by *credential) (http.Header, error) {
	value, err := s.read(by.Secret)
	return http.Header{s.header: {string(value)}}, err
}

// plainSecret is the header's value as it is.
func plainSecret(secret []byte) ([]byte, error) { return bytes.TrimSpace(secret), nil }

// basicSecret is the value of Authorization, or user:password for it.
func basicSecret(secret []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(secret)
	user, _, found := bytes.Cut(trimmed, []byte(":"))
	if !found || bytes.ContainsAny(user, " \t") {
		return trimmed, nil
	}
	return []byte("Basic " + base64.StdEncoding.EncodeToString(trimmed)), nil
}

func tokenIn(header string, read func([]byte) ([]byte, error)) func(Config) (scheme, error) {
	return func(Config) (scheme, error) {
		return &token{header: http.CanonicalHeaderKey(header), read: read}, nil
	}
}

const nothingSigned = "Nothing is signed: the secret itself travels with every delivery, and whoever sees one can make others."

func gitLab() Preset {
	return Preset{
		Name: "gitlab", Title: "GitLab with a secret token",
		SenderWindow: 24 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		EventID: Source{Header: "Idempotency-Key"}, EventType: Source{JSON: "/object_kind"}, Object: Source{JSON: "/project/id"},
		Symmetric: true,
		Signed:    "nothing; X-Gitlab-Token must equal the secret",
		Secret:    "the secret token as text",
		Weak:      []string{nothingSigned},
		Advice: []string{
			"Use a signing token instead, where GitLab offers it, and the preset gitlab-signing-token.",
			"A 4xx disables the webhook for good, four failures in a row for a while.",
		},
		Sources:  []string{"docs.gitlab.com: webhooks", "gitlab.com/gitlab-org/gitlab issue 462719"},
		Reviewed: reviewed,
		build:    tokenIn("X-Gitlab-Token", plainSecret),
	}
}

func postmark() Preset {
	return Preset{
		Name: "postmark", Title: "Postmark",
		SenderWindow: 24 * time.Hour, Retries: true,
		EventID:   Source{Join: []Source{{JSON: "/RecordType"}, {JSON: "/ID"}}}, // bounces and complaints
		otherIDs:  []Source{{Hash: "body"}},                                     // the others, which hold their time
		EventType: Source{JSON: "/RecordType"}, Object: Source{JSON: "/MessageID"},
		Symmetric: true,
		Signed:    "nothing; Authorization must equal the secret",
		Secret:    "user:password of the webhook's basic authentication, or the whole value of Authorization",
		Weak:      []string{nothingSigned, "Only bounces and complaints have an ID; other events are known by their whole body, which holds their time."},
		Sources: []string{
			"github.com/hookdeck/webhook-skills at f8a4801 (2026-02-22), a third party", "postmarkapp.com/email-webhooks (examples)",
		},
		Reviewed: reviewed,
		build:    tokenIn("Authorization", basicSecret),
	}
}

func okta() Preset {
	return Preset{
		Name: "okta", Title: "Okta event hooks",
		Methods:      []string{http.MethodPost, http.MethodGet},
		SenderWindow: time.Hour, AckDeadline: 3 * time.Second, Retries: true,
		EventID: Source{JSON: "/eventId"}, EventType: Source{JSON: "/data/events/0/eventType"}, Object: Source{JSON: "/data/events/0/uuid"},
		Symmetric: true,
		Signed:    "nothing; Authorization must equal the secret",
		Secret:    "the whole value of Authorization, or user:password",
		Weak:      []string{nothingSigned},
		Advice:    []string{"Okta retries once, and only after a 5xx: use accept mode."},
		Sources:   []string{"github.com/okta/okta-developer-docs concepts/event-hooks at 468de9c (2026-08-21)"},
		Reviewed:  reviewed,
		controls:  []control{{name: "verification_challenge", unsigned: true, awaits: oktaAwaits, recognises: isOktaChallenge, answer: oktaChallenge}},
		build:     tokenIn("Authorization", basicSecret),
	}
}

func oktaAwaits(h http.Header) bool { return has(h, "X-Okta-Verification-Challenge") }

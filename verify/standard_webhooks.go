package verify

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"net/http"
	"strings"
	"time"
)

// standardWebhooks is the open specification, version 1.0.0, with symmetric (v1) and public keys (v1a).
func standardWebhooks() Preset {
	return standard("standard-webhooks", "Standard Webhooks", []names{webhookNames()})
}

func webhookNames() names {
	return names{[]string{"webhook-signature"}, "webhook-timestamp", "webhook-id"}
}

func svixNames() names { return names{[]string{"svix-signature"}, "svix-timestamp", "svix-id"} }

// standard is a sender that follows the specification, with the sets of headers that it uses.
func standard(name, title string, variants []names) Preset {
	return Preset{
		Name: name, Title: title,
		SenderWindow: 76 * time.Hour, AckDeadline: 15 * time.Second, Retries: true,
		EventID: Source{Header: http.CanonicalHeaderKey(variants[0].id)}, IDSigned: true, EventType: Source{JSON: "/type"},
		Tolerance: 5 * time.Minute, Symmetric: true,
		Signed: "ID, time and body with dots between; HMAC-SHA256 in base64 in the v1 entries, Ed25519 in the v1a entries",
		Secret: "whsec_ and base64 (the prefix may be missing), or whpk_ and base64 for an Ed25519 public key",
		Sources: []string{
			"github.com/standard-webhooks/standard-webhooks spec/standard-webhooks.md 1.0.0 at b2fa7b8 (2026-08-17)",
		},
		Reviewed: reviewed,
		build: declare(declared{
			algorithm: "sha256", unit: unitSeconds, tolerance: 5 * time.Minute,
			variants: variants,
			syntax:   syntax{separator: ' ', prefix: "v1,", public: "v1a,", encoding: "base64"},
			secret:   standardSecret,
		}, "{id}.{timestamp}.{body}", ""),
	}
}

// standardSecret tells a shared secret from a public key. The two never check each other's signatures.
func standardSecret(secret []byte) (any, error) {
	trimmed := string(bytes.TrimSpace(secret))
	if strings.HasPrefix(trimmed, "whsk_") {
		return nil, errors.New("whsk_ is the sender's private key; give its public key, whpk_")
	}
	if public, found := strings.CutPrefix(trimmed, "whpk_"); found {
		key, err := decodeBase64(public)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, errors.New("whpk_ is not followed by the base64 of 32 bytes")
		}
		return ed25519.PublicKey(key), nil
	}
	key, err := decodeBase64(strings.TrimPrefix(trimmed, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("not base64 behind whsec_")
	}
	return newMACKey("sha256", key)
}

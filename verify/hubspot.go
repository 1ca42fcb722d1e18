package verify

import (
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// hubSpot is declared but for the URL: HubSpot signs it with some percent escapes undone, its SDKs as it is. Versions 1
// and 2 are plain hashes with the secret in front and are refused.
type hubSpot struct{ *declared }

const (
	hubSpotV3  = "X-Hubspot-Signature-V3"
	hubSpotOld = "X-Hubspot-Signature"
)

// hubSpotDecoded undoes the escapes that the documentation names.
func hubSpotDecoded(target string) string {
	return strings.NewReplacer(
		"%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*",
		"%2C", ",", "%3B", ";",
	).Replace(target)
}

func hubSpotPreset() Preset {
	base := declare(declared{
		algorithm: "sha256", unit: unitMillis, tolerance: 5 * time.Minute,
		variants: []names{{signatures: []string{hubSpotV3}, timestamp: "X-HubSpot-Request-Timestamp"}},
		syntax:   syntax{encoding: "base64"},
	}, "{method}{url}{body}{timestamp}", "raw")
	return Preset{
		Name: "hubspot", Title: "HubSpot (signature v3)",
		SenderWindow: 24 * time.Hour, AckDeadline: 5 * time.Second, Retries: true,
		IDSigned: true, EventType: Source{JSON: "/0/subscriptionType"}, Object: Source{JSON: "/0/objectId"},
		Fingerprint: Fingerprint{Exclude: []string{"/*/attemptNumber"}},
		Tolerance:   5 * time.Minute, Symmetric: true, NeedsPublicURL: true,
		Signed: "method, URL, body and time (milliseconds) side by side; HMAC-SHA256 in base64 in X-HubSpot-Signature-v3",
		Secret: "the app's client secret as text",
		Weak: []string{
			"A delivery is a batch and the unit; its ID is made of eventId, subscription, object and time of its items.",
			"Signatures v1 and v2 are plain hashes and are refused.",
		},
		Sources: []string{
			"github.com/HubSpot/hubspot-api-python at a2a528a (2025-11-04)", "developers.hubspot.com: validating requests " +
				"(deadline, retries and the list of escapes are not confirmed)",
		},
		Reviewed: reviewed,
		identify: hubSpotBatch,
		build: func(cfg Config) (scheme, error) {
			made, err := base(cfg)
			if err != nil {
				return nil, err
			}
			return hubSpot{made.(*declared)}, nil
		},
	}
}

func (s hubSpot) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	if !has(d.Header, hubSpotV3) && has(d.Header, hubSpotOld) {
		return evidence{}, reject(AlgorithmRefused)
	}
	if s.origin == "" {
		return evidence{}, reject(PublicURLMissing)
	}
	found, rejection := s.declared.verify(d, now, keys)
	if rejection == nil || rejection.Reason != SignatureMismatch || !strings.Contains(d.Target, "%") {
		return found, rejection
	}
	other := *d
	other.Target = hubSpotDecoded(d.Target)
	return s.declared.verify(&other, now, keys)
}

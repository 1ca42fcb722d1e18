package verify

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// sendGrid signs its time and the body with ECDSA on P-256.
type sendGrid struct{}

const (
	sendGridSignature = "X-Twilio-Email-Event-Webhook-Signature"
	sendGridTimestamp = "X-Twilio-Email-Event-Webhook-Timestamp"
	// maxDER is the length of the longest ECDSA signature on P-256 in base64.
	maxDER = 100
)

func sendGridPreset() Preset {
	return Preset{
		Name: "sendgrid", Title: "Twilio SendGrid event webhook",
		SenderWindow: 24 * time.Hour, Retries: true,
		IDSigned: true,
		Signed:   "time and body side by side; ECDSA P-256 with SHA-256, DER in base64, in " + sendGridSignature,
		Secret:   "the verification key: base64 of the public key, or PEM",
		Weak: []string{
			"A delivery is a batch and the unit; its ID is made of the sg_event_id of its items. An item that comes again in another batch is not known again.",
			"No tolerance of the signed time is documented, so any is accepted.",
		},
		Sources:  []string{"github.com/sendgrid/sendgrid-go helpers/eventwebhook at 0f2bb79 (2025-05-29); the retry window is not confirmed"},
		Reviewed: reviewed,
		identify: sendGridBatch,
		build:    func(Config) (scheme, error) { return sendGrid{}, nil },
	}
}

func (sendGrid) key(secret []byte) (any, error) {
	der, err := decodeBase64(string(bytes.TrimSpace(secret)))
	if block, _ := pem.Decode(secret); block != nil {
		der, err = block.Bytes, nil
	}
	if err != nil {
		return nil, errors.New("neither base64 nor PEM")
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(*ecdsa.PublicKey)
	if err != nil || !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("not a public key on P-256")
	}
	return key, nil
}

func (sendGrid) presented(h http.Header) bool {
	return has(h, sendGridSignature) && has(h, sendGridTimestamp)
}

func (sendGrid) covers(source Source) bool { return source.Header == "" }

func (sendGrid) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	header, rejection := one(d.Header, sendGridSignature, SignatureMissing, SignatureRepeated)
	if rejection != nil {
		return evidence{}, rejection
	}
	stamp, rejection := one(d.Header, sendGridTimestamp, TimestampMissing, TimestampRepeated)
	if rejection != nil {
		return evidence{}, rejection
	}
	at, rejection := parseTime(stamp, unitSeconds)
	if rejection != nil {
		return evidence{}, rejection
	}
	signature, err := decodeBase64(header)
	if err != nil || len(header) > maxDER {
		return evidence{}, reject(SignatureMalformed)
	}
	digest := sha256.New()
	digest.Write([]byte(stamp))
	digest.Write(d.Body)
	sum := digest.Sum(nil)
	for c := range keys.live(now) {
		if ecdsa.VerifyASN1(c.key.(*ecdsa.PublicKey), sum, signature) {
			return evidence{by: c, at: at, covered: [][]byte{d.Body}}, nil
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

package verify

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// payPal signs the transmission's ID and time, the webhook's ID and a CRC-32 of the body. A CRC-32 is no hash: other
// bodies with the same one are easily made, so the transmission ID is all that counts as signed.
type payPal struct{}

// payPalKey is a pinned certificate and the configured ID of the webhook, which is in no request.
type payPalKey struct {
	webhook string
	cert    *x509.Certificate
	public  *rsa.PublicKey
}

func (k *payPalKey) validity() (notBefore, notAfter time.Time) {
	return k.cert.NotBefore, k.cert.NotAfter
}

const payPalID = "Paypal-Transmission-Id"

func payPalPreset() Preset {
	return Preset{
		Name: "paypal", Title: "PayPal",
		SenderWindow: 72 * time.Hour, Retries: true,
		EventID: Source{Header: payPalID}, IDSigned: true, EventType: Source{JSON: "/event_type"}, Object: Source{JSON: "/resource/id"},
		Signed: "transmission ID, time, webhook ID and the body's CRC-32 with | between; RSA PKCS #1 v1.5 with SHA-256 in base64 in PAYPAL-TRANSMISSION-SIG",
		Secret: "JSON {\"webhook_id\", \"cert_pem\"}: the webhook's ID and PayPal's certificate",
		Weak: []string{
			"The body is covered by a CRC-32 only: a changed body can be made to verify. One transmission ID runs once; another body under it is a conflict.",
			"No tolerance of the signed time is documented, so any is accepted.",
		},
		Advice:   []string{"Fetch what matters from PayPal's API before acting on it.", "Events of the simulator do not verify."},
		Sources:  []string{"github.com/paypal/PayPal-Python-SDK at 0d704e7 (2020-05-11)", "developer.paypal.com: webhooks"},
		Reviewed: reviewed,
		build:    func(Config) (scheme, error) { return payPal{}, nil },
	}
}

func (payPal) key(secret []byte) (any, error) {
	var pair struct {
		WebhookID string `json:"webhook_id"`
		CertPEM   string `json:"cert_pem"`
	}
	if err := strictJSON(secret, &pair); err != nil {
		return nil, err
	}
	if err := checkPart("webhook_id", pair.WebhookID); err != nil {
		return nil, err
	}
	if strings.Contains(pair.WebhookID, "|") {
		return nil, errors.New("webhook_id: | is the separator of the signed text")
	}
	cert, public, err := rsaCertificate([]byte(pair.CertPEM))
	if err != nil {
		return nil, fmt.Errorf("cert_pem: %w", err)
	}
	return &payPalKey{pair.WebhookID, cert, public}, nil
}

// rsaCertificate reads the first certificate of a PEM text.
func rsaCertificate(text []byte) (*x509.Certificate, *rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, nil, errors.New("not a PEM certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, errors.New("not an X.509 certificate")
	}
	public, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok || public.N.BitLen() < 2048 {
		return nil, nil, errors.New("not an RSA key of at least 2048 bits")
	}
	return cert, public, nil
}

func (payPal) presented(h http.Header) bool {
	return has(h, "Paypal-Transmission-Sig") && has(h, payPalID)
}

func (payPal) covers(source Source) bool {
	return source.Header != "" && canonical(source.Header) == payPalID
}

// payPalHeaders are read in this order.
func payPalHeaders(h http.Header) (id, stamp, signature string, rejection *Rejection) {
	for _, want := range []struct {
		name string
		into *string
	}{{"Paypal-Transmission-Sig", &signature}, {payPalID, &id}, {"Paypal-Transmission-Time", &stamp}} {
		if *want.into, rejection = one(h, want.name, SignatureMissing, SignatureRepeated); rejection != nil {
			return
		}
	}
	algorithm, rejection := one(h, "Paypal-Auth-Algo", AlgorithmRefused, AlgorithmRefused)
	if rejection != nil || algorithm != "SHA256withRSA" {
		return "", "", "", reject(AlgorithmRefused)
	}
	source, rejection := one(h, "Paypal-Cert-Url", CertificateRefused, CertificateRefused)
	if rejection != nil || !payPalURL(source) {
		return "", "", "", reject(CertificateRefused)
	}
	if strings.Contains(id, "|") || strings.Contains(stamp, "|") {
		return "", "", "", reject(SignedPartAmbiguous)
	}
	return id, stamp, signature, nil
}

// payPalURL tells whether a certificate is said to come from PayPal. The pinned one is used in any case.
func payPalURL(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" || parsed.User != nil || parsed.Port() != "" {
		return false
	}
	host := strings.ToLower(parsed.Hostname())
	return host == "paypal.com" || strings.HasSuffix(host, ".paypal.com")
}

func (payPal) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	id, stamp, text, rejection := payPalHeaders(d.Header)
	if rejection != nil {
		return evidence{}, rejection
	}
	at, rejection := parseTime(stamp, unitRFC3339)
	if rejection != nil {
		return evidence{}, rejection
	}
	signature, err := decodeBase64(text)
	if err != nil || len(text) > 2048 {
		return evidence{}, reject(SignatureMalformed)
	}
	for c := range keys.live(now) {
		key := c.key.(*payPalKey)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%d", id, stamp, key.webhook, crc32.ChecksumIEEE(d.Body)))
		if rsa.VerifyPKCS1v15(key.public, crypto.SHA256, sum[:], signature) == nil {
			return evidence{by: c, at: at, covered: [][]byte{[]byte(id)}}, nil
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

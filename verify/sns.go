package verify

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SignatureVersion 1, which topics have by default
	"crypto/sha256"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// sns signs some fields of its JSON envelope with the key of an X.509 certificate, pinned or fetched from Amazon's host.
type sns struct {
	tree  *pointerTree
	certs *certificates
}

// snsKey is a pinned certificate; nil stands for those that are fetched.
type snsKey struct{ cert *x509.Certificate }

func (k *snsKey) validity() (notBefore, notAfter time.Time) {
	if k.cert == nil {
		return
	}
	return k.cert.NotBefore, k.cert.NotAfter
}

// snsFields are all fields that are read, by slot.
func snsFields() []string {
	return []string{
		"/Type", "/MessageId", "/TopicArn", "/Message", "/Timestamp", "/Subject", "/Token", "/SubscribeURL",
		"/SignatureVersion", "/Signature", "/SigningCertURL",
	}
}

// snsMessage is the envelope by the names of its fields.
type snsMessage map[string]string

const maxSNSSignature = 1024

func snsPreset() Preset {
	return Preset{
		Name: "sns", Title: "Amazon SNS",
		SenderWindow: 2 * time.Hour, AckDeadline: 15 * time.Second, Retries: true,
		EventID: Source{JSON: "/MessageId"}, IDSigned: true, EventType: Source{JSON: "/Type"}, Object: Source{JSON: "/TopicArn"},
		Require: []string{"/TopicArn"},
		Signed:  "names and values of the envelope's fields (not UnsubscribeURL); RSA with SHA-1 (version 1) or SHA-256 (version 2), in base64 in the body",
		Secret:  "the signing certificate in PEM, or secret: {fetch: sender} to fetch it from Amazon's own host",
		Weak: []string{
			"The signature shows that some topic of Amazon sent a message, which is why require: {/TopicArn: […]} is mandatory.",
			"UnsubscribeURL, message attributes and x-amz-sns headers are not signed.",
			"With {fetch: sender}, whoever knows the topic can hold up the first fetch of a new certificate by made-up addresses: deliveries " +
				"get 503 meanwhile. A pinned certificate needs no fetch.",
			"Version 1 uses SHA-1: set SignatureVersion 2 on the topic.",
		},
		Advice: []string{
			"Raw message delivery removes the envelope, and with it everything that could be verified: keep it off.",
			"The subscription must be confirmed: by the application, or with handshake: answer.",
		},
		Sources: []string{
			"github.com/aws/aws-js-sns-message-validator at a6ba4d6 (2022-08-19)", "docs.aws.amazon.com/sns: verify the signatures of messages",
		},
		Reviewed: reviewed,
		controls: []control{
			{name: "subscription_confirmation", recognises: isSNS("SubscriptionConfirmation"), answer: snsConfirm},
			{name: "unsubscribe_confirmation", recognises: isSNS("UnsubscribeConfirmation"), answer: emptyOK},
		},
		reads: []string{"/Type", "/SubscribeURL"},
		build: func(cfg Config) (scheme, error) {
			return &sns{items(snsFields()...), newCertificates(cfg.Fetch)}, nil
		},
	}
}

func (s *sns) key(secret []byte) (any, error) {
	cert, _, err := rsaCertificate(secret)
	return &snsKey{cert}, err
}

func (s *sns) fetched() (any, error) { return &snsKey{}, nil }

func (s *sns) presented(http.Header) bool { return true }

func (s *sns) covers(source Source) bool {
	switch source.JSON {
	case "/Type", "/MessageId", "/TopicArn", "/Message", "/Timestamp", "/Subject", "/Token", "/SubscribeURL":
		return true
	}
	return false
}

func (s *sns) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	message, rejection := s.read(d)
	if rejection != nil {
		return evidence{}, rejection
	}
	text, rejection := message.signed()
	if rejection != nil {
		return evidence{}, rejection
	}
	signature, err := decodeBase64(strings.ReplaceAll(message["Signature"], "\n", ""))
	if err != nil || len(message["Signature"]) > maxSNSSignature {
		return evidence{}, reject(SignatureMalformed)
	}
	at, rejection := parseTime(message["Timestamp"], unitRFC3339)
	if rejection != nil {
		return evidence{}, rejection
	}
	by, rejection := s.find(message, now, keys, []byte(text), signature)
	return evidence{by: by, at: at, covered: [][]byte{[]byte(text)}}, rejection
}

// read takes the fields out of the envelope. A field that is there twice or is no string makes the rest meaningless.
func (s *sns) read(d *delivery.Delivery) (snsMessage, *Rejection) {
	doc := &document{delivery: d, tree: s.tree}
	values, ok := doc.values()
	if !ok {
		return nil, reject(SignatureMissing)
	}
	out := snsMessage{}
	for slot, pointer := range snsFields() {
		if values[slot].kind == absent && !values[slot].repeated {
			continue
		}
		value, state := values[slot].scalar()
		if state == malformed || values[slot].kind == number {
			return nil, reject(SignatureMalformed)
		}
		if state == present {
			out[pointer[1:]] = value
		}
	}
	if out["Signature"] == "" {
		return nil, reject(SignatureMissing)
	}
	if !snsCertificateURL(out["SigningCertURL"]) {
		return nil, reject(CertificateRefused)
	}
	return out, nil
}

// signed is the text under the signature: names and values in lines, by name.
func (m snsMessage) signed() (string, *Rejection) {
	var names []string
	switch m["Type"] {
	case "Notification":
		names = []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	case "SubscriptionConfirmation", "UnsubscribeConfirmation":
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	default:
		return "", reject(SignatureMalformed)
	}
	var out strings.Builder
	for _, name := range names {
		value, found := m[name]
		if !found && name == "Subject" {
			continue
		}
		// Lines within any value but the message could pass for other fields.
		if !found {
			return "", reject(SignedPartMissing)
		}
		if name != "Message" && strings.Contains(value, "\n") {
			return "", reject(SignedPartAmbiguous)
		}
		out.WriteString(name + "\n" + value + "\n")
	}
	return out.String(), nil
}

func (s *sns) find(m snsMessage, now time.Time, keys ring, text, signature []byte) (*credential, *Rejection) {
	hash, sum := crypto.SHA1, sha1Sum(text)
	switch m["SignatureVersion"] {
	case "1":
	case "2":
		hash, sum = crypto.SHA256, sha256Sum(text)
	default:
		return nil, reject(AlgorithmRefused)
	}
	fault := reject(CredentialUnknown)
	for c := range keys.live(now) {
		cert, rejection := s.certificate(c.key.(*snsKey), m["SigningCertURL"], now)
		if rejection != nil {
			fault = rejection
			continue
		}
		fault = reject(SignatureMismatch)
		if rsa.VerifyPKCS1v15(cert.PublicKey.(*rsa.PublicKey), hash, sum, signature) == nil {
			return c, nil
		}
	}
	return nil, fault
}

func (s *sns) certificate(key *snsKey, url string, now time.Time) (*x509.Certificate, *Rejection) {
	if key.cert != nil {
		return key.cert, nil
	}
	cert, err := s.certs.get(url, now)
	switch {
	case err != nil:
		return nil, reject(CertificateUnavailable)
	case now.Before(cert.NotBefore) || now.After(cert.NotAfter):
		return nil, reject(CertificateRefused)
	}
	return cert, nil
}

func sha1Sum(text []byte) []byte {
	sum := sha1.Sum(text) //nolint:gosec // see above
	return sum[:]
}

func sha256Sum(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:]
}

func isSNS(kind string) func(controlRequest) bool {
	return func(c controlRequest) bool {
		found, _ := c.document.pointer("/Type")
		return found == kind
	}
}

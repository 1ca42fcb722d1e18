package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// twilio signs the URL that it calls and, for forms, the sorted fields behind it. Other bodies are covered by their hash
// in the query. Fields and values stand side by side without separators, so bytes can move between them under a valid
// signature: no field counts as signed, and IDs are bound to the signed text as a whole.
type twilio struct {
	origins []string // of the public URL, in the forms that Twilio may have signed
}

const (
	twilioHeader = "X-Twilio-Signature"
	// maxTwilioFields bounds what is sorted for a stranger.
	maxTwilioFields = 1000
)

func twilioPreset() Preset {
	return Preset{
		Name: "twilio", Title: "Twilio",
		Methods:      []string{http.MethodPost, http.MethodGet},
		SenderWindow: time.Hour, AckDeadline: 15 * time.Second, Retries: true,
		EventID: Source{Header: "I-Twilio-Idempotency-Token"}, Object: Source{Form: "MessageSid"},
		Symmetric: true, NeedsPublicURL: true,
		Signed: "the URL, and the sorted fields of a form or the hash of another body (bodySHA256 in the query); HMAC-SHA1 in base64 in " + twilioHeader,
		Secret: "the account's auth token as text",
		Weak: []string{
			"The idempotency token is not signed, and no time. The same body under another token is taken for a repetition; " +
				"where a caller may legitimately press the same keys twice on one URL, choose unsigned_id: trust.",
			"Requests without a body (GET) cannot be bound and can be replayed under any token.",
			"Fields and values are signed without separators, so none of them counts as signed.",
		},
		Advice: []string{
			"public_url must be the origin as Twilio calls it: scheme, user and port included.",
			"The answer is TwiML: use forward mode.",
		},
		Sources: []string{
			"github.com/twilio/twilio-python at 306691e (2026-08-11)", "github.com/twilio/twilio-go at d858acd (2026-05-08)",
			"twilio.com/docs/usage/webhooks/webhooks-security",
		},
		Reviewed: reviewed,
		build:    func(cfg Config) (scheme, error) { return &twilio{twilioOrigins(cfg.PublicURL)}, nil },
	}
}

// twilioOrigins are an origin as written, without its port, and with the default port: Twilio is not consistent.
func twilioOrigins(origin string) []string {
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Host == "" {
		return nil
	}
	other := *parsed
	switch {
	case parsed.Port() != "":
		other.Host = strings.TrimSuffix(parsed.Host, ":"+parsed.Port())
	case parsed.Scheme == "https":
		other.Host += ":443"
	default:
		other.Host += ":80"
	}
	return []string{origin, other.String()}
}

func (s *twilio) key(secret []byte) (any, error) { return newMACKey("sha1", secret) }

func (s *twilio) presented(h http.Header) bool { return has(h, twilioHeader) }

// covers knows JSON only, which a hash covers; see the comment of the type for forms.
func (s *twilio) covers(source Source) bool { return source.JSON != "" }

func (s *twilio) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	header, rejection := one(d.Header, twilioHeader, SignatureMissing, SignatureRepeated)
	if rejection != nil {
		return evidence{}, rejection
	}
	signature, ok := decodeFixed(header, "base64", 20)
	if !ok {
		return evidence{}, reject(SignatureMalformed)
	}
	if len(s.origins) == 0 {
		return evidence{}, reject(PublicURLMissing)
	}
	fields, rejection := twilioFields(d)
	if rejection != nil {
		return evidence{}, rejection
	}
	for c := range keys.live(now) {
		for _, origin := range s.origins {
			message := [][]byte{[]byte(origin), []byte(d.Target), fields}
			if c.key.(*macKey).matches(message, [][]byte{signature}) {
				return evidence{by: c, covered: [][]byte{[]byte(d.Target), fields}}, nil
			}
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

// twilioFields is what is signed behind the URL. A hash in the URL is that of the body, also of one that somebody emptied
// or now calls a form: the URL alone is signed then.
func twilioFields(d *delivery.Delivery) ([]byte, *Rejection) {
	if hash, found := bodyHash(d.Target); found {
		return nil, checkBodyHash(hash, d.Body)
	}
	if len(d.Body) == 0 {
		return nil, nil
	}
	if !declaresForm(d.Header) || isDocument(d.Body) {
		return nil, reject(BodyNotCovered) // JSON is covered by a hash only
	}
	fields, rejection := sortedFields(d.Body)
	if rejection == nil && len(fields) == 0 {
		rejection = reject(BodyNotCovered) // "=" and the like: nothing of it is in the signed text
	}
	return fields, rejection
}

func checkBodyHash(hash string, body []byte) *Rejection {
	sum := sha256.Sum256(body)
	given, ok := decodeFixed(hash, "hex", sha256.Size)
	if !ok || [sha256.Size]byte(given) != sum {
		return reject(SignatureMismatch)
	}
	return nil
}

// bodyHash finds the parameter bodySHA256, which must be there once.
func bodyHash(target string) (string, bool) {
	_, query, _ := strings.Cut(target, "?")
	value, found, repeated, _ := formField([]byte(query), "bodySHA256")
	return value, found && !repeated
}

// sortedFields writes each name with each of its different values, sorted.
func sortedFields(body []byte) ([]byte, *Rejection) {
	if bytes.Count(body, []byte("&")) >= maxTwilioFields {
		return nil, reject(SignatureListTooLong)
	}
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, reject(SignatureMalformed)
	}
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []byte
	for _, name := range names {
		values := slices.Clone(fields[name])
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			out = append(append(out, name...), value...)
		}
	}
	return out, nil
}

func (s *twilio) sign(d *delivery.Delivery, _ time.Time, by *credential) (http.Header, error) {
	key, err := symmetric(by)
	if err != nil {
		return nil, err
	}
	if len(s.origins) == 0 {
		return nil, errors.New("public_url is missing, and Twilio signs the URL")
	}
	out, copied := http.Header{}, *d
	if _, hashed := bodyHash(d.Target); !hashed && len(d.Header["Content-Type"]) == 0 && len(d.Body) > 0 && !isJSON(d.Body) {
		out.Set("Content-Type", "application/x-www-form-urlencoded")
		copied.Header = merged(d.Header, out)
	}
	fields, rejection := twilioFields(&copied)
	if rejection != nil {
		sum := sha256.Sum256(d.Body)
		return nil, errors.New("the body is no form: call the URL with bodySHA256=" + hex.EncodeToString(sum[:]) + " in the query")
	}
	mac := key.sum([][]byte{[]byte(s.origins[0]), []byte(d.Target), fields})
	out.Set(twilioHeader, base64.StdEncoding.EncodeToString(mac))
	return out, nil
}

package verify

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// mailgun signs a time and a random token inside the body, and nothing of the event beside them. Whoever captured them can
// write any body around them, so that even an ID that is the token itself is bound to it.
type mailgun struct{ tree *pointerTree }

const (
	mailgunTimestamp = iota // slots
	mailgunToken
	mailgunSignature
)

func mailgunPreset() Preset {
	return Preset{
		Name: "mailgun", Title: "Mailgun",
		SenderWindow: 8 * time.Hour, Retries: true,
		EventID: Source{JSON: "/event-data/id"}, otherIDs: []Source{{Form: "token"}},
		EventType: Source{JSON: "/event-data/event"}, otherTypes: []Source{{Form: "event"}}, Object: Source{JSON: "/event-data/message/headers/message-id"},
		Symmetric: true, SignedInBody: true,
		Signed: "timestamp and token inside the body, side by side; HMAC-SHA256 in hex, inside the body as well",
		Secret: "the webhook signing key as text (not the API key)",
		Weak: []string{
			"The event itself is not signed: whoever sees one delivery can send any content with its token. A token counts once per event type, and types can be made up: list those that matter in event.types.",
			"No tolerance of the signed time is documented, so any is accepted.",
		},
		Advice:   []string{"Fetch what matters from Mailgun's API before acting on it.", "Mailgun stops on 406 and retries on everything else that is not 200."},
		Sources:  []string{"github.com/mailgun/mailgun-go webhooks.go at d7f2dd4 (2026-07-18)", "documentation.mailgun.com: webhook retries"},
		Reviewed: reviewed,
		build: func(Config) (scheme, error) {
			return &mailgun{items("/signature/timestamp", "/signature/token", "/signature/signature")}, nil
		},
	}
}

func (s *mailgun) key(secret []byte) (any, error) { return newMACKey("sha256", secret) }

func (s *mailgun) presented(http.Header) bool { return true }

// covers knows the JSON body's fields only: in a form of the older kind nothing counts as signed.
func (s *mailgun) covers(source Source) bool {
	return source.JSON == "/signature/timestamp" || source.JSON == "/signature/token"
}

func (s *mailgun) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	parts, rejection := s.parts(d)
	if rejection != nil {
		return evidence{}, rejection
	}
	at, rejection := parseTime(parts[mailgunTimestamp], unitSeconds)
	if rejection != nil {
		return evidence{}, rejection
	}
	signature, ok := decodeFixed(parts[mailgunSignature], "hex", 32)
	if !ok || len(parts[mailgunToken]) > 256 {
		return evidence{}, reject(SignatureMalformed)
	}
	token := []byte(parts[mailgunToken])
	for c := range keys.live(now) {
		if c.key.(*macKey).matches([][]byte{[]byte(parts[mailgunTimestamp]), token}, [][]byte{signature}) {
			return evidence{by: c, at: at, covered: [][]byte{token}}, nil
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

// parts reads time, token and signature from a JSON body, or from a form of the older kind; no body is both.
func (s *mailgun) parts(d *delivery.Delivery) ([3]string, *Rejection) {
	var out [3]string
	doc := &document{delivery: d, tree: s.tree}
	for slot, name := range []string{"timestamp", "token", "signature"} {
		value, state := doc.scalar(slot)
		if state == missing {
			value, state = doc.field(name)
		}
		switch state {
		case missing, unreadable, sealed:
			return out, reject(SignatureMissing)
		case malformed:
			return out, reject(SignatureMalformed)
		}
		out[slot] = value
	}
	return out, nil
}

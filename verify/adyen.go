package verify

import (
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// adyen signs eight fields of each item inside the body. Everything else, the envelope included, is not covered.
type adyen struct{ tree, item *pointerTree }

// adyenFields are signed in this order with colons between; the signature itself comes behind them.
func adyenFields() []string {
	return []string{
		"/NotificationRequestItem/pspReference", "/NotificationRequestItem/originalReference",
		"/NotificationRequestItem/merchantAccountCode", "/NotificationRequestItem/merchantReference",
		"/NotificationRequestItem/amount/value", "/NotificationRequestItem/amount/currency",
		"/NotificationRequestItem/eventCode", "/NotificationRequestItem/success",
		"/NotificationRequestItem/additionalData/hmacSignature",
	}
}

const (
	adyenReference = 0 // slots
	adyenMerchant  = 3
	adyenEventCode = 6
	adyenSuccess   = 7
	adyenSignature = 8
	maxAdyenItems  = 100
)

func adyenPreset() Preset {
	return Preset{
		Name: "adyen", Title: "Adyen (standard webhooks)",
		SenderWindow: 30 * 24 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		IDSigned: true, EventType: Source{JSON: "/notificationItems/0/NotificationRequestItem/eventCode"},
		Object:    Source{JSON: "/notificationItems/0/NotificationRequestItem/merchantReference"},
		Symmetric: true, SignedInBody: true,
		Signed: "of each item: pspReference, originalReference, merchantAccountCode, merchantReference, value, currency, eventCode and success " +
			"with colons between; HMAC-SHA256 in base64 in the item's additionalData.hmacSignature",
		Secret: "the HMAC key in hex, as the Customer Area shows it",
		Weak: []string{
			"All other fields of an item and the envelope (live) are not signed: read them from Adyen's API before acting on them.",
			"The ID of an authorisation is its pspReference, of other events pspReference/eventCode; of a batch, a hash of those of its items.",
		},
		Advice: []string{
			"A new key takes time to spread: keep the old one as retiring.",
			"Adyen delivers in order: a refused message holds up those behind it for up to 30 days.",
		},
		Sources: []string{
			"github.com/Adyen/adyen-python-api-library at b6f4979 (2026-07-27)", "github.com/Adyen/adyen-node-api-library at 3b84a18 (2026-08-21)",
			"docs.adyen.com: verify HMAC signatures, troubleshoot webhooks (2026-05-24)",
		},
		Reviewed: reviewed,
		identify: adyenBatch,
		reads:    []string{"/notificationItems"},
		build: func(Config) (scheme, error) {
			return &adyen{items("/notificationItems"), items(adyenFields()...)}, nil
		},
	}
}

func (s *adyen) key(secret []byte) (any, error) {
	key, err := decodeSecret(secret, "hex")
	if err != nil {
		return nil, err
	}
	return newMACKey("sha256", key)
}

func (s *adyen) presented(http.Header) bool { return true }

// covers knows the signed fields of the only item of a batch; there may be more, which no pointer tells.
func (s *adyen) covers(Source) bool { return false }

func (s *adyen) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	batch, rejection := signedItems(d, s.tree)
	if rejection != nil {
		return evidence{}, rejection
	}
	if len(batch) > maxAdyenItems {
		return evidence{}, reject(SignatureListTooLong)
	}
	out := evidence{}
	for _, item := range batch {
		message, signature, rejection := s.read(item)
		if rejection != nil {
			return evidence{}, rejection
		}
		by := adyenSigner(keys, now, message, signature)
		if by == nil {
			return evidence{}, reject(SignatureMismatch)
		}
		if out.by == nil {
			out.by = by
		}
		out.covered = append(out.covered, message)
	}
	return out, nil
}

func adyenSigner(keys ring, now time.Time, message, signature []byte) *credential {
	for c := range keys.live(now) {
		if c.key.(*macKey).matches([][]byte{message}, [][]byte{signature}) {
			return c
		}
	}
	return nil
}

// read gives what is signed of an item, and its signature.
func (s *adyen) read(item []byte) (message, signature []byte, rejection *Rejection) {
	found, _, err := s.item.scan(item)
	if err != nil {
		return nil, nil, reject(SignatureMalformed)
	}
	message, rejection = s.message(found)
	if rejection != nil {
		return nil, nil, rejection
	}
	text, state := found[adyenSignature].scalar()
	if state == missing {
		return nil, nil, reject(SignatureMissing)
	}
	signature, ok := decodeFixed(text, "base64", 32)
	if state == malformed || !ok {
		return nil, nil, reject(SignatureMalformed)
	}
	return message, signature, nil
}

// message is what is signed of an item. The merchant's reference alone may hold colons; with one more such field, the text
// could be cut in several ways.
func (s *adyen) message(found []jsonValue) ([]byte, *Rejection) {
	var parts []string
	for slot, value := range found[:adyenSignature] {
		part, state := value.scalar()
		if slot == adyenSuccess && value.kind == boolean && !value.repeated {
			part, state = string(value.raw), present
		}
		if state == malformed {
			return nil, reject(SignatureMalformed)
		}
		if slot != adyenMerchant && strings.Contains(part, ":") {
			return nil, reject(SignedPartAmbiguous)
		}
		parts = append(parts, part)
	}
	return []byte(strings.Join(parts, ":")), nil
}

// adyenBatch makes IDs of signed fields only.
func adyenBatch(d *document) (delivery.EventID, *Rejection) {
	tree := items(adyenFields()...)
	return batchID(d.value("/notificationItems").raw, tree, func(found []jsonValue) (string, status) {
		reference, state := found[adyenReference].scalar()
		if state != present {
			return "", state
		}
		code, state := found[adyenEventCode].scalar()
		if state != present || code == "AUTHORISATION" {
			return reference, state
		}
		return reference + "/" + code, present
	})
}

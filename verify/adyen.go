package verify

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// adyen signs eight fields of the item inside the body. Everything else, the envelope included, is not covered.
type adyen struct{ tree *pointerTree }

const adyenItem = "/notificationItems/0/NotificationRequestItem/"

// adyenFields are signed in this order with colons between; the signature itself comes behind them.
func adyenFields() []string {
	return []string{
		adyenItem + "pspReference", adyenItem + "originalReference", adyenItem + "merchantAccountCode", adyenItem + "merchantReference",
		adyenItem + "amount/value", adyenItem + "amount/currency", adyenItem + "eventCode", adyenItem + "success",
		adyenItem + "additionalData/hmacSignature",
	}
}

const (
	adyenMerchant  = 3 // slots
	adyenSuccess   = 7
	adyenSignature = 8
	adyenList      = 9
	adyenSecond    = 10 // of the list's items
)

func adyenPreset() Preset {
	return Preset{
		Name: "adyen", Title: "Adyen (standard webhooks)",
		SenderWindow: 30 * 24 * time.Hour, AckDeadline: 10 * time.Second, Retries: true,
		IDSigned: true, EventType: Source{JSON: adyenItem + "eventCode"},
		Object:    Source{JSON: adyenItem + "merchantReference"},
		Symmetric: true, SignedInBody: true,
		Signed: "of the item: pspReference, originalReference, merchantAccountCode, merchantReference, value, currency, eventCode and success " +
			"with colons between; HMAC-SHA256 in base64 in the item's additionalData.hmacSignature",
		Secret: "the HMAC key in hex, as the Customer Area shows it",
		Weak: []string{
			"All other fields of the item and the envelope (live) are not signed: read them from Adyen's API before acting on them.",
			"The ID of an authorisation is its pspReference, of other events pspReference/eventCode.",
			"A delivery with more than one item is refused: Adyen puts exactly one into each JSON delivery, and each item is signed for itself, " +
				"so that captured ones could be put together anew.",
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
		identify: adyenID,
		reads:    []string{adyenItem + "pspReference", adyenItem + "eventCode"},
		build: func(Config) (scheme, error) {
			return &adyen{items(append(adyenFields(), "/notificationItems", "/notificationItems/1")...)}, nil
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

func (s *adyen) covers(source Source) bool {
	return slices.Contains(adyenFields()[:adyenSignature], source.JSON)
}

func (s *adyen) verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection) {
	found, rejection := s.read(d)
	if rejection != nil {
		return evidence{}, rejection
	}
	message, rejection := s.message(found)
	if rejection != nil {
		return evidence{}, rejection
	}
	text, state := found[adyenSignature].scalar()
	if state == missing {
		return evidence{}, reject(SignatureMissing)
	}
	signature, ok := decodeFixed(text, "base64", 32)
	if state == malformed || !ok {
		return evidence{}, reject(SignatureMalformed)
	}
	for c := range keys.live(now) {
		if c.key.(*macKey).matches([][]byte{message}, [][]byte{signature}) {
			return evidence{by: c, covered: [][]byte{message}}, nil
		}
	}
	return evidence{}, reject(SignatureMismatch)
}

// read finds the fields of the only item. Adyen never sends more of them in JSON; where there are, each may be genuine and
// somebody may have put them together.
func (s *adyen) read(d *delivery.Delivery) ([]jsonValue, *Rejection) {
	doc := &document{delivery: d, tree: s.tree}
	found, ok := doc.values()
	switch {
	case !ok || found[adyenList].kind != array || found[adyenList].repeated:
		return nil, reject(SignatureMissing)
	case found[adyenSecond].kind != absent:
		return nil, reject(SignatureListTooLong)
	}
	return found, nil
}

// message is what is signed of the item. The merchant's reference alone may hold colons; with one more such field, the text
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

// adyenID is made of signed fields only.
func adyenID(d *document) (delivery.EventID, *Rejection) {
	reference, _ := d.value(adyenItem + "pspReference").scalar()
	code, _ := d.value(adyenItem + "eventCode").scalar()
	if reference == "" || code == "" {
		return "", rejectEvent(EventIDMissing)
	}
	if code != "AUTHORISATION" {
		reference += "/" + code
	}
	return parsedID(reference)
}

package verify

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// filled writes values, as JSON, over what stands at a pointer. There must be as many places as values.
func filled(body []byte, pointer string, values ...any) ([]byte, error) {
	tree := &pointerTree{}
	if err := tree.cut(pointer); err != nil {
		return nil, err
	}
	_, cuts, err := tree.scan(body)
	if err != nil || len(cuts) != len(values) {
		return nil, fmt.Errorf("the body needs a member at %s, which the signature will replace", pointer)
	}
	var out []byte
	at := 0
	for i, cut := range cuts {
		text, err := json.Marshal(values[i])
		if err != nil {
			return nil, err
		}
		out = append(append(out, body[at:cut.start]...), text...)
		at = cut.end
	}
	return append(out, body[at:]...), nil
}

func (s *mailgun) signBody(body []byte, now time.Time, by *credential) ([]byte, error) {
	var random [25]byte
	rand.Read(random[:])
	stamp, token := formatTime(now, unitSeconds), hex.EncodeToString(random[:])
	mac := by.key.(*macKey).sum([][]byte{[]byte(stamp), []byte(token)})
	return filled(body, "/signature", map[string]string{"timestamp": stamp, "token": token, "signature": hex.EncodeToString(mac)})
}

func (s *adyen) signBody(body []byte, _ time.Time, by *credential) ([]byte, error) {
	found, rejection := s.read(&delivery.Delivery{Body: body})
	if rejection != nil {
		return nil, errors.New("the body is no JSON document with exactly one of notificationItems")
	}
	message, rejection := s.message(found)
	if rejection != nil {
		return nil, rejection
	}
	mac := by.key.(*macKey).sum([][]byte{message})
	return filled(body, adyenFields()[adyenSignature], base64.StdEncoding.EncodeToString(mac))
}

// signBody makes the form around a payload, which is XML.
func (braintree) signBody(body []byte, _ time.Time, by *credential) ([]byte, error) {
	key := by.key.(*braintreeKey)
	if len(body) < 32 {
		return nil, errors.New("the body is too short for a notification in XML")
	}
	payload := wrapped(base64.StdEncoding.EncodeToString(body))
	mac := key.sum([][]byte{[]byte(payload)})
	form := url.Values{"bt_signature": {key.public + "|" + hex.EncodeToString(mac)}, "bt_payload": {payload}}
	return []byte(form.Encode()), nil
}

// wrapped breaks base64 into lines of 60 characters.
func wrapped(text string) string {
	var out strings.Builder
	for len(text) > 60 {
		out.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	return out.String() + text + "\n"
}

func (s *graph) signBody(body []byte, _ time.Time, by *credential) ([]byte, error) {
	values, _, err := s.tree.scan(body)
	if err != nil {
		return nil, errors.New("the body is not one JSON document")
	}
	batch, ok := elements(values[0].raw)
	if !ok {
		return nil, errors.New("the body has no value")
	}
	states := make([]any, len(batch))
	for i := range states {
		states[i] = string(by.Secret)
	}
	return filled(body, "/value/*/clientState", states...)
}

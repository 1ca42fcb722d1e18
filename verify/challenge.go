package verify

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// parameters reads the query of a request that must consist of these names, each once; names behind optional may be
// missing. ok is false for anything else.
func parameters(d *delivery.Delivery, names, optional []string) (map[string]string, bool) {
	_, query, found := strings.Cut(d.Target, "?")
	values, err := url.ParseQuery(query)
	if !found || err != nil {
		return nil, false
	}
	out := map[string]string{}
	for _, name := range append(names, optional...) {
		if len(values[name]) > 1 {
			return nil, false
		}
		if len(values[name]) == 1 {
			out[name] = values[name][0]
		}
		delete(values, name)
	}
	for _, name := range names {
		if out[name] == "" {
			return nil, false
		}
	}
	return out, len(values) == 0
}

// challenged gives the parameters of a GET request without a body.
func (c controlRequest) challenged(names ...string) (map[string]string, bool) {
	d := c.document.delivery
	if d.Method != http.MethodGet || len(d.Body) > 0 {
		return nil, false
	}
	return parameters(d, names, nil)
}

// signing is the credential whose secret makes an answer; nil: none.
func (c controlRequest) signing() *credential {
	if c.by != nil {
		return c.by
	}
	return c.keys.signing(c.now)
}

func emptyOK(controlRequest) *delivery.Response { return answerText(http.StatusOK, "", "") }

func noContent(controlRequest) *delivery.Response { return answerText(http.StatusNoContent, "", "") }

func answerJSON(fields map[string]any) *delivery.Response {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil // no field is ever of a kind that JSON lacks
	}
	return answerText(http.StatusOK, "application/json", string(body))
}

// X: GET with crc_token, answered with its HMAC. The token is of a form that no body of a delivery can have.
func isXChallenge(c controlRequest) bool {
	d := c.document.delivery
	if d.Method != http.MethodGet || len(d.Body) > 0 {
		return false
	}
	found, ok := parameters(d, []string{"crc_token"}, []string{"nonce"})
	return ok && plainToken(found["crc_token"])
}

func xChallenge(c controlRequest) *delivery.Response {
	found, _ := parameters(c.document.delivery, []string{"crc_token"}, []string{"nonce"})
	by := c.signing()
	if by == nil {
		return nil
	}
	key, err := symmetric(by)
	if err != nil {
		return nil
	}
	mac := key.sum([][]byte{[]byte(found["crc_token"])})
	return answerJSON(map[string]any{"response_token": "sha256=" + base64.StdEncoding.EncodeToString(mac)})
}

// Meta: GET with hub.mode, hub.challenge and hub.verify_token, answered with the challenge.
func isMetaChallenge(c controlRequest) bool {
	found, ok := c.challenged("hub.mode", "hub.challenge", "hub.verify_token")
	return ok && found["hub.mode"] == "subscribe" && plainToken(found["hub.challenge"])
}

func metaChallenge(c controlRequest) *delivery.Response {
	found, _ := c.challenged("hub.mode", "hub.challenge", "hub.verify_token")
	for by := range c.keys.live(c.now) {
		key, ok := by.key.(*metaKey)
		if ok && hmac.Equal(key.token, []byte(found["hub.verify_token"])) {
			return answerText(http.StatusOK, "text/plain", found["hub.challenge"])
		}
	}
	return answerText(http.StatusForbidden, "", "")
}

// Dropbox: GET with challenge, echoed.
func isDropboxChallenge(c controlRequest) bool {
	found, ok := c.challenged("challenge")
	return ok && plainToken(found["challenge"])
}

func dropboxChallenge(c controlRequest) *delivery.Response {
	found, _ := c.challenged("challenge")
	return answerText(http.StatusOK, "text/plain", found["challenge"])
}

// Discord: an interaction of type 1, or a webhook event of type 0. A webhook event of type 1 is a real one.
func isDiscordPing(c controlRequest) bool {
	kind, event := c.document.value("/type"), c.document.value("/event")
	return kind.kind == number && event.kind == absent && (string(kind.raw) == "1" || string(kind.raw) == "0")
}

func discordPing(c controlRequest) *delivery.Response {
	if string(c.document.value("/type").raw) == "1" {
		return answerJSON(map[string]any{"type": 1})
	}
	out := noContent(c)
	out.Header.Set("Content-Type", "application/json")
	return out
}

// Twitch: the message type is an unsigned header, so the body has to fit it.
func isTwitchChallenge(c controlRequest) bool {
	challenge, _ := c.document.pointer("/challenge")
	return twitchType(c) == "webhook_callback_verification" && plainToken(challenge)
}

func twitchType(c controlRequest) string {
	kind, rejection := one(c.document.delivery.Header, "Twitch-Eventsub-Message-Type", SignedPartMissing, SignedPartRepeated)
	if rejection != nil {
		return ""
	}
	return kind
}

func twitchChallenge(c controlRequest) *delivery.Response {
	challenge, _ := c.document.pointer("/challenge")
	return answerText(http.StatusOK, "text/plain", challenge)
}

func isTwitchRevocation(c controlRequest) bool {
	state, found := c.document.pointer("/subscription/status")
	return twitchType(c) == "revocation" && found && state != "enabled" && c.document.value("/event").kind == absent
}

// Zoom: a signed request with a token, answered with its HMAC. The token is of a form that no signed text of a delivery
// can have.
func isZoomValidation(c controlRequest) bool {
	event, _ := c.document.pointer("/event")
	token, _ := c.document.pointer("/payload/plainToken")
	return event == "endpoint.url_validation" && plainToken(token)
}

func zoomValidation(c controlRequest) *delivery.Response {
	token, _ := c.document.pointer("/payload/plainToken")
	key, err := symmetric(c.by)
	if err != nil {
		return nil
	}
	mac := key.sum([][]byte{[]byte(token)})
	return answerJSON(map[string]any{"plainToken": token, "encryptedToken": hex.EncodeToString(mac)})
}

// Xero and LINE: a signed batch without events.
func isEmptyBatch(c controlRequest) bool {
	return c.document.value("/events").kind == array && c.document.value("/events/0").kind == absent
}

// Asana: an unsigned POST that carries the secret to be. Echoing it proves nothing and signs nothing.
func asanaAwaits(h http.Header) bool {
	secret, rejection := one(h, "X-Hook-Secret", SignatureMissing, SignatureRepeated)
	return rejection == nil && plainToken(secret)
}

func isAsanaSecret(c controlRequest) bool {
	d := c.document.delivery
	empty := len(d.Body) == 0 || string(d.Body) == "{}"
	return d.Method == http.MethodPost && empty && asanaAwaits(d.Header)
}

func asanaSecret(c controlRequest) *delivery.Response {
	out := answerText(http.StatusOK, "", "")
	out.Header.Set("X-Hook-Secret", c.document.delivery.Header.Get("X-Hook-Secret"))
	return out
}

// Okta: GET with a challenge in a header.
func isOktaChallenge(c controlRequest) bool {
	d := c.document.delivery
	challenge, rejection := one(d.Header, "X-Okta-Verification-Challenge", SignatureMissing, SignatureRepeated)
	return d.Method == http.MethodGet && len(d.Body) == 0 && rejection == nil && plainToken(challenge)
}

func oktaChallenge(c controlRequest) *delivery.Response {
	return answerJSON(map[string]any{"verification": c.document.delivery.Header.Get("X-Okta-Verification-Challenge")})
}

// Microsoft Graph: POST with a token of any text, echoed as plain text that no browser takes for a page.
func isGraphChallenge(c controlRequest) bool {
	d := c.document.delivery
	found, ok := parameters(d, []string{"validationToken"}, nil)
	return d.Method == http.MethodPost && len(d.Body) == 0 && ok && len(found["validationToken"]) <= 1024
}

func graphChallenge(c controlRequest) *delivery.Response {
	found, _ := parameters(c.document.delivery, []string{"validationToken"}, nil)
	return answerText(http.StatusOK, "text/plain", found["validationToken"])
}

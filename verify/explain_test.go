package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// rejected gives what Explain says about a delivery that must be rejected.
func rejected(t *testing.T, v *Verifier, d *delivery.Delivery, now time.Time) Verdict {
	t.Helper()
	verdict := v.Explain(d, now)
	if verdict.Verdict != "rejected" || verdict.Hint == "" {
		t.Fatalf("verdict %+v, want a rejection with a hint", verdict)
	}
	return verdict
}

func wantHint(t *testing.T, verdict Verdict, want string) {
	t.Helper()
	if !strings.Contains(verdict.Hint, want) {
		t.Errorf("hint %q does not tell of %q", verdict.Hint, want)
	}
	for _, secret := range []string{ordersSecret, "evt-1", "ord_1"} {
		if strings.Contains(verdict.Hint, secret) {
			t.Errorf("hint %q shows %q", verdict.Hint, secret)
		}
	}
}

func TestHintsAboutSecrets(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	for how, text := range map[string]string{
		"read as hex": hex.EncodeToString(key), "read as base64": base64.StdEncoding.EncodeToString(key),
		"without the white space": string(key) + " ", "without its prefix": "whsec_" + string(key),
	} {
		cfg := ordersConfig()
		cfg.Credentials[0].Secret = []byte(text)
		d := signedAt(string(key), formatTime(noon, unitSeconds), orderBody)
		wantHint(t, rejected(t, mustNew(t, cfg), d, noon), how)
	}
	cfg := ordersConfig()
	cfg.HMAC.SecretEncoding = "base64"
	text := base64.StdEncoding.EncodeToString(key)
	cfg.Credentials[0].Secret = []byte(text)
	d := signedAt(text, formatTime(noon, unitSeconds), orderBody)
	wantHint(t, rejected(t, mustNew(t, cfg), d, noon), "read as raw text")
}

func TestHintsAboutBodies(t *testing.T) {
	v := mustNew(t, ordersConfig())
	for original, received := range map[string]string{
		orderBody:                              `{"id": "evt-1", "type": "order.paid", "data": {"id": "ord_1"}, "amount": 1250}`,
		orderBody + "\n":                       orderBody,
		orderBody + "\r\n":                     orderBody,
		`{"id": "evt-1", "name": "caf\u00e9"}`: `{"id":"evt-1","name":"café"}`,
		`{"url":"https:\/\/a"}`:                `{"url":"https://a"}`,
		`{"a":1,"b":"x, \"y\": z"}`:            `{"b":"x, \"y\": z","a":1}`,
		"{\n  \"id\": \"evt-1\"\n}":            `{"id":"evt-1"}`,
		"a=1\r\nb=2":                           "a=1\nb=2",
		"\xef\xbb\xbf{}":                       "{}",
	} {
		d := order(original)
		d.Body = []byte(received)
		wantHint(t, rejected(t, v, d, noon), "it would verify if the body")
	}
}

func TestHintsAboutTheClock(t *testing.T) {
	v := mustNew(t, ordersConfig())
	verdict := rejected(t, v, order(orderBody), noon.Add(2*time.Hour))
	wantHint(t, verdict, "signed 2h0m0s before")
	wantHint(t, verdict, "the signature itself is good")
	wantHint(t, rejected(t, v, order(orderBody), noon.Add(-time.Hour)), "signed 1h0m0s after")
	d := order(orderBody)
	d.Body = append(d.Body, ' ')
	wantHint(t, rejected(t, v, d, noon.Add(time.Hour)), "does not verify at that time either")
	wantHint(t, rejected(t, v, signedAt(ordersSecret, formatTime(noon, unitMillis), orderBody), noon), "milliseconds 13")
}

func TestHintsAboutTheURL(t *testing.T) {
	cfg := Config{Scope: "acme/square", Provider: "square", PublicURL: "https://hooks.example.com",
		Credentials: []Credential{{ID: "key", Secret: []byte("signature-key")}}}
	signer := mustNew(t, cfg)
	d := &delivery.Delivery{Method: "POST", Target: "/in/", Host: "hooks.example.com", Header: http.Header{}, Body: []byte(`{"event_id":"e"}`)}
	header, err := signer.Sign(d, noon)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*delivery.Delivery, *Config){
		"public_url began with https":   func(_ *delivery.Delivery, c *Config) { c.PublicURL = "http://hooks.example.com" },
		"public_url had the host":       func(_ *delivery.Delivery, c *Config) { c.PublicURL = "https://internal.example.com" },
		"public_url had no port":        func(d *delivery.Delivery, c *Config) { c.PublicURL, d.Host = "https://hooks.example.com:8443", "x" },
		"the path had a slash":          func(d *delivery.Delivery, _ *Config) { d.Target = "/in" },
		"set public_url (--public-url)": func(_ *delivery.Delivery, c *Config) { c.PublicURL, c.SignatureOnly = "", true },
	} {
		changed, copied := cfg, *d
		copied.Header = header
		change(&copied, &changed)
		wantHint(t, rejected(t, mustNew(t, changed), &copied, noon), want)
	}
}

func TestHintsAboutTheScheme(t *testing.T) {
	v := mustNew(t, ordersConfig())
	plain := order(orderBody)
	plain.Header.Set("X-Signature", "sha256="+digestOf(ordersSecret, orderBody))
	wantHint(t, rejected(t, v, plain, noon), "the sender signs {body}")

	raw, _ := hex.DecodeString(digestOf(ordersSecret, "x"))
	coded := order(orderBody)
	coded.Header.Set("X-Signature", base64.StdEncoding.EncodeToString(raw))
	wantHint(t, rejected(t, v, coded, noon), "base64 behind the prefix")

	other := &delivery.Delivery{Method: "POST", Target: "/", Header: http.Header{"Stripe-Signature": {"t=1,v1=00"}}}
	wantHint(t, rejected(t, v, other, noon), "look like provider stripe")
}

func TestHintsAboutDeadCredentials(t *testing.T) {
	cfg := ordersConfig()
	cfg.Credentials = []Credential{
		{ID: "live", Secret: []byte("another")}, {ID: "expired", Secret: []byte(ordersSecret), NotAfter: noon.Add(-time.Hour)},
	}
	wantHint(t, rejected(t, mustNew(t, cfg), order(orderBody), noon), "credential expired made it")
}

func TestExplainShowsWhatIsGood(t *testing.T) {
	v := mustNew(t, ordersConfig())
	verdict := v.Explain(order(orderBody), noon)
	if verdict.Verdict != "verified" || verdict.EventID != "evt-1" || !verdict.EventIDSigned || verdict.EventType != "order.paid" ||
		verdict.CredentialID != "orders-1" || !verdict.SignedAt.Equal(noon) || verdict.Reason != "" {
		t.Errorf("verdict %+v", verdict)
	}
	verdict = v.Explain(order(`{"type":"order.paid"}`), noon)
	if verdict.Verdict != "verified" || verdict.Reason != EventIDMissing || verdict.EventType != "order.paid" || verdict.EventID != "" {
		t.Errorf("without an ID: %+v", verdict)
	}
}

// TestEveryRejectionIsExplained breaks every good vector in several ways.
func TestEveryRejectionIsExplained(t *testing.T) {
	for _, vector := range loadVectors(t) {
		if vector.Expect != "valid" || vector.MayBeRefused {
			continue
		}
		d, origin := vector.delivery(t)
		v := mustNew(t, vector.config(origin))
		d.Body = append(bytes.Clone(d.Body), '\n')
		if verdict := v.Explain(d, time.Unix(vector.NowUnix, 0)); verdict.Verdict == "rejected" && verdict.Hint == "" {
			t.Errorf("%s %s: no hint for %s", vector.Provider, vector.Name, verdict.Reason)
		}
	}
}

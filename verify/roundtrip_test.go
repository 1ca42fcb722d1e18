package verify

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// sampleSecret is a secret as an operator would paste it.
func sampleSecret(p Preset, raw []byte) string {
	switch p.Name {
	case "adyen", "adyen-platform":
		return hex.EncodeToString(raw)
	case "rfc9421":
		return base64.StdEncoding.EncodeToString(raw)
	case "standard-webhooks", "svix", "clerk", "resend", "gitlab-signing-token":
		return "whsec_" + base64.StdEncoding.EncodeToString(raw)
	case "braintree":
		return `{"public_key":"pub","private_key":"` + hex.EncodeToString(raw) + `"}`
	}
	return hex.EncodeToString(raw)
}

// sampleConfig is an integration of a sender with a shared secret.
func sampleConfig(p Preset, raw []byte) Config {
	cfg := Config{
		Scope: "acme/sample", Provider: p.Name, PublicURL: "https://hooks.example.com", SignatureOnly: true,
		Credentials: []Credential{{ID: "key", Secret: []byte(sampleSecret(p, raw))}},
	}
	if p.Name == "hmac" {
		cfg.HMAC = ordersConfig().HMAC
		cfg.Event.ID = Source{JSON: "/id"}
	}
	return cfg
}

// sampleBody is a body with all that any scheme wants to find in it, and a note.
func sampleBody(p Preset, note string) []byte {
	quoted, _ := json.Marshal(note)
	switch p.Name {
	case "adyen":
		return []byte(`{"live":"false","notificationItems":[{"NotificationRequestItem":{"pspReference":"p1","merchantReference":` + string(quoted) +
			`,"amount":{"value":5,"currency":"EUR"},"eventCode":"CAPTURE","success":"true","additionalData":{"hmacSignature":""}}}]}`)
	case "mailgun":
		return []byte(`{"signature":{},"event-data":{"id":"e1","event":"opened","note":` + string(quoted) + `}}`)
	case "microsoft-graph":
		return []byte(`{"value":[{"clientState":"","note":` + string(quoted) + `}]}`)
	case "braintree":
		return []byte("<notification><kind>check</kind><note>" + note + "</note></notification>")
	case "twilio":
		return []byte("MessageSid=SM1&Body=" + hex.EncodeToString([]byte(note)))
	}
	return []byte(`{"id":"e1","event_id":"e1","type":"t","webhookTimestamp":` + formatTime(noon, unitMillis) + `,"note":` + string(quoted) + `}`)
}

// sampleDelivery is a delivery that Sign or SignBody made genuine.
func sampleDelivery(t testing.TB, v *Verifier, p Preset, body []byte) *delivery.Delivery {
	t.Helper()
	d := &delivery.Delivery{Method: p.Methods[0], Target: "/in?a=1", Host: "hooks.example.com", Header: http.Header{}, Body: body}
	if p.SignedInBody {
		signed, err := v.SignBody(d, noon)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		d.Body = signed
		if p.Name == "braintree" {
			d.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return d
	}
	header, err := v.Sign(d, noon)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	d.Header = header
	return d
}

func symmetricPresets() []Preset {
	return slices.DeleteFunc(Presets(), func(p Preset) bool { return !p.Symmetric })
}

func TestSignedDeliveriesVerify(t *testing.T) {
	if n := len(symmetricPresets()); n < 40 {
		t.Fatalf("only %d senders with shared secrets", n)
	}
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.SampledFrom(symmetricPresets()).Draw(r, "sender")
		raw := rapid.SliceOfN(rapid.Byte(), 24, 64).Draw(r, "secret")
		note := rapid.StringN(0, 200, 400).Draw(r, "note")
		v, err := New(sampleConfig(p, raw))
		if err != nil {
			r.Fatalf("%s: %v", p.Name, err)
		}
		d := sampleDelivery(t, v, p, sampleBody(p, note))
		if verdict := v.Explain(d, noon); verdict.Verdict != "verified" {
			r.Fatalf("%s: %+v", p.Name, verdict)
		}
		stranger, err := New(sampleConfig(p, append(raw, 'x')))
		if err != nil {
			r.Fatalf("%s: %v", p.Name, err)
		}
		if verdict := stranger.Explain(d, noon); verdict.Verdict != "rejected" {
			r.Fatalf("%s with another secret: %+v", p.Name, verdict)
		}
	})
}

// TestDeclaredSchemesRoundTrip draws a scheme, not only a body.
func TestDeclaredSchemesRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg := ordersConfig()
		h := cfg.HMAC
		h.Algorithm = rapid.SampledFrom([]string{"sha1", "sha256", "sha512"}).Draw(r, "algorithm")
		h.Encoding = rapid.SampledFrom([]string{"hex", "base64"}).Draw(r, "encoding")
		h.Prefix = rapid.SampledFrom([]string{"", "v1=", "sha256=", "x"}).Draw(r, "prefix")
		h.Signed = rapid.SampledFrom([]string{
			"{timestamp}.{body}", "{timestamp}{body}", "{id}.{timestamp}.{body}", "v0:{timestamp}:{body}", "{method}{url}{body}{timestamp}",
			"{timestamp}|{header:X-Kind}|{body}", "{body}{timestamp}",
		}).Draw(r, "signed")
		h.Timestamp.Unit = rapid.SampledFrom([]string{"s", "ms"}).Draw(r, "unit")
		cfg.PublicURL = "https://hooks.example.com"
		cfg.Event.ID = Source{Header: "X-Event-Id"}
		body := rapid.SliceOf(rapid.Byte()).Draw(r, "body")
		v, err := New(cfg)
		if err != nil {
			r.Fatal(err)
		}
		d := &delivery.Delivery{Method: "POST", Target: "/in?q", Header: http.Header{"X-Kind": {"k"}}, Body: body}
		header, err := v.Sign(d, noon)
		if err != nil {
			r.Fatal(err)
		}
		d.Header = merged(d.Header, header)
		proof, err := v.Authenticate(d, noon)
		if err != nil || proof.IDSigned != strings.Contains(h.Signed, "{id}") || string(proof.EventID) != header.Get("X-Event-Id") {
			r.Fatalf("%+v, %v", proof, err)
		}
		if proof.Bound() != (!proof.IDSigned && len(body) > 0) {
			r.Fatalf("bound: %v", proof.Bound())
		}
		changed := *d
		changed.Body = append(slices.Clone(body), 0)
		if _, err := v.Authenticate(&changed, noon); err == nil {
			r.Fatal("a longer body verifies")
		}
	})
}

// TestNoOtherSpellingVerifies changes every byte of every header that signing made, and writes the signature in other ways.
func TestNoOtherSpellingVerifies(t *testing.T) {
	for _, p := range symmetricPresets() {
		if p.SignedInBody {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			v := mustNew(t, sampleConfig(p, []byte("0123456789abcdef0123456789abcdef")))
			d := sampleDelivery(t, v, p, sampleBody(p, "note"))
			for name, values := range d.Header {
				if name == "Content-Type" || name == canonical(p.EventID.Header) && !p.IDSigned && p.Name != "rfc9421" {
					continue
				}
				for _, other := range respelled(values[0], v.base64()) {
					changed := *d
					changed.Header = merged(d.Header, http.Header{name: {other}})
					if v.accepts(&changed) {
						t.Errorf("%s: %q verifies in place of %q", name, other, values[0])
					}
				}
			}
		})
	}
}

// accepts tells whether a signature verifies, whatever the event.
func (v *Verifier) accepts(d *delivery.Delivery) bool {
	_, rejection := v.authenticate(&document{delivery: d, tree: v.tree}, noon)
	return rejection == nil
}

// base64 tells whether the scheme's signatures are in base64, where letters in another case are another value.
func (v *Verifier) base64() bool {
	s := declaredOf(v.scheme)
	return s == nil || s.syntax.encoding == "base64"
}

// respelled are texts that differ from a value in more than the case of hex digits, or than an empty entry of a list.
func respelled(value string, caseCounts bool) []string {
	var out []string
	for i := range len(value) {
		for _, c := range []byte{'0', 'A', '_', ' ', value[i] ^ 0x20} {
			other := value[:i] + string(c) + value[i+1:]
			if other != value && (caseCounts || !strings.EqualFold(other, value)) {
				out = append(out, other)
			}
		}
		out = append(out, value[:i]+value[i+1:])
		if value[i] != ',' && value[i] != ';' {
			out = append(out, value[:i]+value[i:i+1]+value[i:])
		}
	}
	for _, edit := range [][2]string{{"=", ""}, {"+", "-"}, {"/", "_"}, {"=", "%3D"}, {"==", "="}} {
		if other := strings.ReplaceAll(value, edit[0], edit[1]); other != value {
			out = append(out, other)
		}
	}
	return append(out, value+"=", value+"\n", "\n"+value, value+"\x00", value+"é")
}

// TestEveryByteOfTheBodyCounts flips each byte of a body that is covered as a whole.
func TestEveryByteOfTheBodyCounts(t *testing.T) {
	for _, p := range symmetricPresets() {
		if p.SignedInBody || p.Name == "gitlab" || p.Name == "postmark" || p.Name == "okta" {
			continue
		}
		v := mustNew(t, sampleConfig(p, []byte("0123456789abcdef0123456789abcdef")))
		d := sampleDelivery(t, v, p, sampleBody(p, "note"))
		for i := range d.Body {
			changed := *d
			changed.Body = slices.Clone(d.Body)
			changed.Body[i] ^= 1
			if v.accepts(&changed) {
				t.Errorf("%s: byte %d may be changed", p.Name, i)
			}
		}
	}
}

package verify

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// vector is one published or generated delivery of testdata/vectors.json, with the verdict that is right for it.
type vector struct {
	Provider      string
	Name          string
	Secret        *string
	Method        string
	URL           string
	Headers       map[string]string
	BodyBase64    string `json:"body_base64"`
	NowUnix       int64  `json:"now_unix"`
	Expect        string
	EventID       *string `json:"event_id"`
	EventIDSigned bool    `json:"event_id_signed"`
	MayBeRefused  bool    `json:"may_be_refused"`
	Algorithm     string
}

func loadVectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	loadJSON(t, "testdata/vectors.json", &all)
	if len(all) < 200 {
		t.Fatalf("only %d vectors", len(all))
	}
	return all
}

func loadJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// request turns method, URL and fields into a delivery and the origin that was called.
func request(t testing.TB, method, rawURL string, headers map[string]string, body []byte) (*delivery.Delivery, string) {
	t.Helper()
	parsed, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(rawURL[len("https://"):], "/") + len("https://")
	d := &delivery.Delivery{Method: method, Target: rawURL[at:], Host: parsed.Host, Header: http.Header{}, Body: body}
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			d.Host = value
			continue
		}
		d.Header.Set(name, value)
	}
	return d, rawURL[:at]
}

func (v vector) delivery(t testing.TB) (*delivery.Delivery, string) {
	body, err := base64.StdEncoding.DecodeString(v.BodyBase64)
	if err != nil {
		t.Fatal(err)
	}
	return request(t, v.Method, v.URL, v.Headers, body)
}

func (v vector) config(origin string) Config {
	secret := ""
	if v.Secret != nil {
		secret = *v.Secret
	}
	cfg := Config{
		Scope: "acme/vectors", Provider: v.Provider, PublicURL: origin, SignatureOnly: true,
		Credentials: []Credential{{ID: "key", Secret: []byte(secret)}},
	}
	if v.Provider == "generic-hmac" {
		cfg.Provider = "hmac"
		cfg.HMAC = &HMAC{Algorithm: v.Algorithm, Header: "X-Signature", Encoding: "hex", Signed: "{body}"}
		if strings.Contains(v.Headers["X-Signature"], "sha256=") {
			cfg.HMAC.Prefix = "sha256="
		}
	}
	return cfg
}

func TestVectors(t *testing.T) {
	for _, v := range loadVectors(t) {
		t.Run(v.Provider+"/"+v.Name, func(t *testing.T) {
			d, origin := v.delivery(t)
			cfg := v.config(origin)
			verifier, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			v.judge(t, verifier, d)
		})
	}
}

func (v vector) judge(t *testing.T, verifier *Verifier, d *delivery.Delivery) {
	verdict := verifier.Explain(d, time.Unix(v.NowUnix, 0))
	want := map[string]string{"valid": "verified", "invalid": "rejected"}[v.Expect]
	got := verdict.Verdict
	if got == "control" {
		got = "verified" // a control message that carries a signature is one more delivery that verifies
	}
	if got != want && !(v.MayBeRefused && got == "rejected") {
		t.Fatalf("verdict %s (%s, %s), want %s", verdict.Verdict, verdict.Reason, verdict.Hint, v.Expect)
	}
	if got == "rejected" || verdict.Verdict == "control" {
		return
	}
	if v.EventID != nil && (string(verdict.EventID) != *v.EventID || verdict.EventIDSigned != v.EventIDSigned) {
		t.Errorf("event ID %q (signed %v), want %q (signed %v)",
			verdict.EventID, verdict.EventIDSigned, *v.EventID, v.EventIDSigned)
	}
}

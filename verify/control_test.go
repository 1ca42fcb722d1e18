package verify

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// handshake is a control message of testdata/handshakes.json with the answer that the sender expects.
type handshake struct {
	Provider string
	Name     string
	Secret   *string
	Request  struct {
		Method     string
		URL        string
		Headers    map[string]string
		BodyBase64 string `json:"body_base64"`
	}
	Response struct {
		Status    int
		Headers   map[string]string
		Body      string
		JSONEqual any `json:"json_equal"`
	}
	Signed bool `json:"request_is_signed"`
}

func loadHandshakes(t testing.TB) []handshake {
	var all []handshake
	loadJSON(t, "testdata/handshakes.json", &all)
	return all
}

func (h handshake) config() Config {
	secret := "no secret is used"
	if h.Secret != nil {
		secret = *h.Secret
	}
	return Config{
		Scope: "acme/handshakes", Provider: h.Provider, Handshake: HandshakeAnswer, SignatureOnly: true,
		Credentials: []Credential{{ID: "key", Secret: []byte(secret)}},
	}
}

func (h handshake) delivery(t testing.TB) (*delivery.Delivery, time.Time) {
	body, err := base64.StdEncoding.DecodeString(h.Request.BodyBase64)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := request(t, h.Request.Method, h.Request.URL, h.Request.Headers, body)
	now := noon
	for _, name := range []string{"X-Slack-Request-Timestamp", "X-Zm-Request-Timestamp"} {
		if seconds, err := strconv.ParseInt(d.Header.Get(name), 10, 64); err == nil {
			now = time.Unix(seconds, 0)
		}
	}
	return d, now
}

func TestHandshakesAreAnswered(t *testing.T) {
	for _, h := range loadHandshakes(t) {
		if h.Provider == "sns" {
			continue // its request is a vector: TestSubscriptionIsConfirmed
		}
		t.Run(h.Provider+"/"+h.Name, func(t *testing.T) {
			v := mustNew(t, h.config())
			d, now := h.delivery(t)
			if !v.Presented(d.Method, d.Target, d.Header) {
				t.Error("would be refused before the body is read")
			}
			proof, err := v.Authenticate(d, now)
			if err != nil || proof.Control == nil || proof.Control.Answer == nil {
				t.Fatalf("proof %+v, error %v, want an answer", proof, err)
			}
			if proof.Scope != "acme/handshakes" || proof.EventID != "" || (proof.CredentialID != "") != h.Signed {
				t.Errorf("proof %+v", proof)
			}
			h.compare(t, proof.Control.Answer)
		})
	}
}

func (h handshake) compare(t *testing.T, got *delivery.Response) {
	if got.Status != h.Response.Status {
		t.Errorf("status %d, want %d", got.Status, h.Response.Status)
	}
	for name, value := range h.Response.Headers {
		if !strings.HasPrefix(got.Header.Get(name), value) {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), value)
		}
	}
	if h.Response.JSONEqual == nil {
		if string(got.Body) != h.Response.Body {
			t.Errorf("body %q, want %q", got.Body, h.Response.Body)
		}
		return
	}
	var body any
	if err := json.Unmarshal(got.Body, &body); err != nil || !reflect.DeepEqual(body, h.Response.JSONEqual) {
		t.Errorf("body %s, want %v", got.Body, h.Response.JSONEqual)
	}
}

func TestHandshakesArePassedOrRefused(t *testing.T) {
	for _, h := range loadHandshakes(t) {
		if h.Provider == "sns" {
			continue
		}
		d, now := h.delivery(t)
		cfg := h.config()
		cfg.Handshake = HandshakePass
		proof, err := mustNew(t, cfg).Authenticate(d, now)
		if err != nil || proof.Control == nil || proof.Control.Answer != nil {
			t.Errorf("%s %s: proof %+v, error %v, want it passed on", h.Provider, h.Name, proof, err)
		}
		cfg.Handshake = HandshakeOff
		v := mustNew(t, cfg)
		proof, err = v.Authenticate(d, now)
		if _, event := reasonOf(t, err); err != nil && event != h.Signed || proof.Control != nil {
			t.Errorf("%s %s, off: proof %+v, error %v", h.Provider, h.Name, proof, err)
		}
		if !h.Signed && (err == nil || v.Presented(d.Method, d.Target, d.Header) && !v.bodySigned) {
			t.Errorf("%s %s, off: it gets in", h.Provider, h.Name)
		}
	}
}

// TestAlmostHandshakes changes one thing about each unsigned message: nothing else than the exact message counts.
func TestAlmostHandshakes(t *testing.T) {
	for _, h := range loadHandshakes(t) {
		if h.Signed {
			continue
		}
		v := mustNew(t, h.config())
		for what, change := range map[string]func(d *delivery.Delivery){
			"other method":    func(d *delivery.Delivery) { d.Method = http.MethodPut },
			"a body":          func(d *delivery.Delivery) { d.Body = []byte(`{"id":"evt-1"}`) },
			"more parameters": func(d *delivery.Delivery) { d.Target += "&action=delete" },
			"twice": func(d *delivery.Delivery) {
				d.Target += strings.Replace(d.Target[strings.Index(d.Target, "?"):], "?", "&", 1)
			},
			"odd text":      func(d *delivery.Delivery) { d.Target = strings.Replace(d.Target, "=", "=%7B%0A", 9) },
			"no parameters": func(d *delivery.Delivery) { d.Target = "/in" },
		} {
			d, now := h.delivery(t)
			if !strings.Contains(d.Target, "?") && what != "other method" && what != "a body" {
				continue
			}
			if h.Provider == "microsoft-graph" && what == "odd text" {
				continue // its token is any text, which is echoed and never signed
			}
			change(d)
			proof, err := v.Authenticate(d, now)
			if err == nil || proof.Control != nil {
				t.Errorf("%s %s with %s: proof %+v, error %v", h.Provider, h.Name, what, proof, err)
			}
		}
	}
}

// TestChallengesAreNoOracle asks for signatures over texts and tries to use the answers as deliveries.
func TestChallengesAreNoOracle(t *testing.T) {
	for name, c := range map[string]struct {
		provider, secret, parameter string
		forge                       func(token, answer string) *delivery.Delivery
	}{
		"x-twitter": {"x-twitter", "consumer-secret", "crc_token", func(token, answer string) *delivery.Delivery {
			var fields map[string]string
			json.Unmarshal([]byte(answer), &fields)
			return &delivery.Delivery{Method: "POST", Target: "/in", Body: []byte(token),
				Header: http.Header{"X-Twitter-Webhooks-Signature": {fields["response_token"]}}}
		}},
		"braintree": {"braintree", `{"public_key":"pub","private_key":"priv"}`, "bt_challenge", func(token, answer string) *delivery.Delivery {
			return &delivery.Delivery{Method: "POST", Target: "/in", Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
				Body: []byte("bt_signature=" + strings.ReplaceAll(answer, "|", "%7C") + "&bt_payload=" + token)}
		}},
	} {
		cfg := Config{Scope: "acme/oracle", Provider: c.provider, Handshake: HandshakeAnswer, PublicURL: "https://example.com",
			Credentials: []Credential{{ID: "key", Secret: []byte(c.secret)}}}
		v := mustNew(t, cfg)
		answered := 0
		for _, token := range []string{
			"20f9f8ed05f77439fe955c977e4c8a53", "0123456789abcdef0123", "123", "true", "null", `{"id":"evt"}`, "%7B%7D", "[]", "a%0Ab",
		} {
			ask := &delivery.Delivery{Method: "GET", Target: "/in?" + c.parameter + "=" + token, Header: http.Header{}}
			proof, err := v.Authenticate(ask, noon)
			if err != nil {
				continue
			}
			answered++
			forged := c.forge(token, string(proof.Control.Answer.Body))
			if _, err := v.Authenticate(forged, noon); err == nil {
				t.Errorf("%s: the answer to the challenge %q signs a delivery", name, token)
			} else if _, event := reasonOf(t, err); event {
				t.Errorf("%s: the answer to the challenge %q counts as a signature: %v", name, token, err)
			}
		}
		if answered == 0 {
			t.Errorf("%s: no challenge was answered", name)
		}
	}
}

func TestBraintreePublishedChallenge(t *testing.T) {
	cfg := Config{Scope: "acme/bt", Provider: "braintree", Handshake: HandshakeAnswer,
		Credentials: []Credential{{ID: "key", Secret: []byte(`{"public_key":"integration_public_key","private_key":"integration_private_key"}`)}}}
	d := &delivery.Delivery{Method: "GET", Target: "/in?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53", Header: http.Header{}}
	proof, err := mustNew(t, cfg).Authenticate(d, noon)
	if err != nil || proof.Control == nil {
		t.Fatal(err)
	}
	want := "integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4"
	if got := string(proof.Control.Answer.Body); got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
}

func TestMetaVerifyToken(t *testing.T) {
	for secret, token := range map[string]string{
		"meatyhamhock": "meatyhamhock", `{"app_secret":"app","verify_token":"pass-phrase"}`: "pass-phrase",
	} {
		cfg := Config{Scope: "acme/meta", Provider: "meta", Handshake: HandshakeAnswer,
			Credentials: []Credential{{ID: "key", Secret: []byte(secret)}}}
		v := mustNew(t, cfg)
		for given, want := range map[string]int{token: 200, "nope": 403} {
			d := &delivery.Delivery{Method: "GET", Header: http.Header{},
				Target: "/in?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=" + given}
			proof, err := v.Authenticate(d, noon)
			if err != nil || proof.Control == nil || proof.Control.Answer.Status != want {
				t.Errorf("token %q: %+v, %v", given, proof.Control, err)
			}
			if want == 200 && string(proof.Control.Answer.Body) != "1158201444" {
				t.Errorf("answer %q", proof.Control.Answer.Body)
			}
		}
	}
}

// Okta sends its Authorization in every request, the verification too, and the hook is refused without an answer to that.
func TestOktaVerifiesWithAndWithoutAuthorization(t *testing.T) {
	for _, handshake := range []Handshake{HandshakePass, HandshakeAnswer} {
		cfg := Config{Scope: "acme/okta", Provider: "okta", Handshake: handshake, Credentials: []Credential{{ID: "key", Secret: []byte("hook-secret")}}}
		v := mustNew(t, cfg)
		for authorization, by := range map[string]string{"hook-secret": "key", "": ""} {
			d := &delivery.Delivery{Method: "GET", Target: "/in", Header: http.Header{"X-Okta-Verification-Challenge": {"abc-123"}}}
			if authorization != "" {
				d.Header.Set("Authorization", authorization)
			}
			proof, err := v.Authenticate(d, noon)
			if err != nil || proof.Control == nil || proof.CredentialID != by || proof.EventID != "" {
				t.Fatalf("%s, authorization %q: %+v, %v", handshake, authorization, proof, err)
			}
			answer := proof.Control.Answer
			if (answer != nil) != (handshake == HandshakeAnswer) || answer != nil && string(answer.Body) != `{"verification":"abc-123"}` {
				t.Errorf("%s, authorization %q: answer %+v", handshake, authorization, answer)
			}
			if verdict := v.Explain(d, noon); verdict.Verdict != "control" || verdict.CredentialID != by {
				t.Errorf("%s, authorization %q: explained as %+v", handshake, authorization, verdict)
			}
			d.Header.Set("Authorization", "wrong")
			if proof, err := v.Authenticate(d, noon); err == nil {
				t.Errorf("another's authorization: %+v", proof)
			}
		}
	}
}

// The active credential makes the answers: a sender may have forgotten the retiring one.
func TestChallengesAreAnsweredWithTheActiveCredential(t *testing.T) {
	for provider, c := range map[string]struct{ old, young, target string }{
		"x-twitter": {"old-secret", "new-secret", "/in?crc_token=9b4507b3"},
		"braintree": {
			`{"public_key":"old","private_key":"old-key"}`, `{"public_key":"new","private_key":"new-key"}`,
			"/in?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53",
		},
	} {
		answer := func(credentials ...Credential) string {
			cfg := Config{Scope: "acme/rotated", Provider: provider, Handshake: HandshakeAnswer, Credentials: credentials}
			proof, err := mustNew(t, cfg).Authenticate(&delivery.Delivery{Method: "GET", Target: c.target, Header: http.Header{}}, noon)
			if err != nil || proof.Control == nil || proof.Control.Answer == nil {
				t.Fatalf("%s: %+v, %v", provider, proof, err)
			}
			return string(proof.Control.Answer.Body)
		}
		old := Credential{ID: "old", Secret: []byte(c.old), Status: Retiring}
		young := Credential{ID: "new", Secret: []byte(c.young), Status: Active}
		want := answer(young)
		if answer(old, young) != want || answer(young, old) != want {
			t.Errorf("%s: answered with the retiring credential", provider)
		}
		if answer(old) == want {
			t.Errorf("%s: two secrets, one answer", provider)
		}
	}
}

package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// authentic judges a delivery that must be good.
func authentic(t *testing.T, v *Verifier, d *delivery.Delivery) Proof {
	t.Helper()
	proof, err := v.Authenticate(d, noon)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// headed is ordersConfig with the ID in a header that is not signed.
func headed() Config {
	cfg := ordersConfig()
	cfg.Event = Event{ID: Source{Header: "x-event-id"}, Type: Source{Header: "X-Kind"}}
	return cfg
}

func withID(d *delivery.Delivery, id, kind string) *delivery.Delivery {
	copied := *d
	copied.Header = merged(d.Header, http.Header{"X-Event-Id": {id}, "X-Kind": {kind}})
	return &copied
}

func TestUnsignedIDsAreBound(t *testing.T) {
	v := mustNew(t, headed())
	d := order(`{"amount":5}`)
	first := authentic(t, v, withID(d, "evt-1", "paid"))
	if first.IDSigned || !first.Bound() || first.EventID != "evt-1" || first.EventType != "paid" {
		t.Fatalf("proof %+v", first)
	}
	if authentic(t, v, withID(d, "evt-2", "paid")).Binding != first.Binding {
		t.Error("the same content under another ID has another binding")
	}
	if authentic(t, v, withID(d, "evt-1", "refunded")).Binding == first.Binding {
		t.Error("another type has the same binding")
	}
	if authentic(t, v, withID(order(`{"amount":6}`), "evt-1", "paid")).Binding == first.Binding {
		t.Error("another body has the same binding")
	}
	later := signedAt(ordersSecret, formatTime(noon.Add(time.Second), unitSeconds), `{"amount":5}`)
	if authentic(t, v, withID(later, "evt-1", "paid")).Binding != first.Binding {
		t.Error("a retry that is signed again has another binding")
	}
	if authentic(t, v, withID(order(""), "evt-1", "paid")).Bound() {
		t.Error("an empty body is bound")
	}
	trusting := headed()
	trusting.UnsignedID = Trust
	if authentic(t, mustNew(t, trusting), withID(d, "evt-1", "paid")).Bound() {
		t.Error("a trusted ID is bound")
	}
}

// hidings are changes of fields that no signature covers, by which a body is hidden from whoever reads the event in it.
// An application may well go on reading it.
func hidings() map[string]http.Header {
	return map[string]http.Header{
		"unknown encoding":           {"Content-Encoding": {"x"}},
		"encoding that it lacks":     {"Content-Encoding": {"gzip"}},
		"two encodings":              {"Content-Encoding": {"identity", "identity"}},
		"a form":                     {"Content-Type": {"application/x-www-form-urlencoded"}},
		"an encoded form":            {"Content-Encoding": {"x"}, "Content-Type": {"application/x-www-form-urlencoded"}},
		"an encoded nothing":         {"Content-Encoding": {"x"}, "Content-Type": {"application/octet-stream"}},
		"an encoding without a type": {"Content-Encoding": {"br"}, "Content-Type": nil},
	}
}

// Whoever hides the body of a captured delivery gets no second event out of it: it is refused or stays what it was.
func TestAHiddenBodyIsNoOtherEvent(t *testing.T) {
	bodies := map[string][]byte{
		"cal.com":  []byte(`{"triggerEvent":"BOOKING_CREATED","createdAt":"2026-01-01","payload":{"uid":"u1"}}`),
		"docusign": []byte(`{"event":"done","generatedDateTime":"2026-01-01","data":{"envelopeId":"e1"}}`),
		"slack":    []byte("command=%2Fpay&trigger_id=t1"),
	}
	judged := 0
	for _, p := range symmetricPresets() {
		v, d := sample(t, p.Name, bodies[p.Name])
		first, err := v.Authenticate(d, noon)
		if err != nil {
			continue // it has no ID by itself
		}
		judged++
		for how, fields := range hidings() {
			hidden := *d
			hidden.Header = merged(d.Header, fields)
			if proof, err := v.Authenticate(&hidden, noon); err == nil && !sameEvent(first, proof) {
				t.Errorf("%s, %s: another event, %s instead of %s", p.Name, how, proof.EventID, first.EventID)
			}
		}
	}
	if judged < 20 {
		t.Errorf("only %d senders judged", judged)
	}
}

// sameEvent tells whether two proofs are of one event as far as the ledger is concerned.
func sameEvent(one, other Proof) bool {
	return one.EventID == other.EventID || one.Bound() && one.Binding == other.Binding
}

// A body that anybody may write around what is signed is read in one way: as JSON or as a form.
func TestABodyIsNeverReadInTwoWays(t *testing.T) {
	v, d := sample(t, "mailgun", nil)
	doc := &document{delivery: d, tree: v.scheme.(*mailgun).tree}
	values, _ := doc.values()
	triple := func(slot int) string { text, _ := values[slot].scalar(); return text }
	form := "timestamp=" + triple(mailgunTimestamp) + "&token=" + triple(mailgunToken) + "&signature=" + triple(mailgunSignature) + "&event=opened"
	first := authentic(t, v, d)
	withoutID := strings.Replace(string(d.Body), `"id":"e1",`, "", 1)
	for what, body := range map[string]string{
		"a form within JSON":    strings.Replace(withoutID, "note", "&token=fresh1&event=opened&", 1),
		"a token within JSON":   strings.Replace(withoutID, "{", `{"pad":"&token=fresh2&",`, 1),
		"a form":                form,
		"a form with more":      form + "&id=fresh3&more=1",
		"a form as JSON's text": `{"pad":"&` + form + `&","signature":{"token":"fresh4"},"event-data":{"event":"opened"}}`,
		"an ID of its own":      strings.Replace(string(d.Body), `"e1"`, `"fresh5"`, 1),
	} {
		for _, kind := range []string{"", "text/plain", "application/json", "application/x-www-form-urlencoded"} {
			forged := *d
			forged.Header, forged.Body = http.Header{"Content-Type": {kind}}, []byte(body)
			if proof, err := v.Authenticate(&forged, noon); err == nil && (proof.IDSigned || !sameEvent(first, proof)) {
				t.Errorf("%s as %q: another event: %+v", what, kind, proof)
			}
		}
	}
}

// The same with the ID outside of the signature: the binding stays, though the type cannot be read any more.
func TestAHiddenBodyKeepsItsBinding(t *testing.T) {
	cfg := headed()
	cfg.Event.Type = Source{JSON: "/type"}
	v := mustNew(t, cfg)
	d := withID(order(`{"type":"paid","amount":5}`), "evt-1", "")
	first := authentic(t, v, d)
	if first.EventType != "paid" || !first.Bound() {
		t.Fatalf("proof %+v", first)
	}
	for how, fields := range hidings() {
		hidden := *withID(d, "evt-2", "")
		hidden.Header = merged(hidden.Header, fields)
		if proof, err := v.Authenticate(&hidden, noon); err == nil && proof.Binding != first.Binding {
			t.Errorf("%s: another binding", how)
		}
	}
}

func TestSignedHeaderIDsAreNotBound(t *testing.T) {
	for _, signed := range []string{"{id}.{timestamp}.{body}", "{timestamp}.{header:X-EVENT-ID}.{body}"} {
		cfg := headed()
		cfg.HMAC.Signed = signed
		v := mustNew(t, cfg)
		d := withID(order(`{"amount":5}`), "evt-1", "paid")
		header, err := v.Sign(d, noon)
		if err != nil {
			t.Fatal(err)
		}
		d.Header = merged(d.Header, header)
		if proof := authentic(t, v, d); !proof.IDSigned || proof.Bound() {
			t.Errorf("%s: %+v", signed, proof)
		}
		_, err = v.Authenticate(withID(d, "evt-2", "paid"), noon)
		if reason, _ := reasonOf(t, err); reason != SignatureMismatch {
			t.Errorf("%s: another ID: %v", signed, err)
		}
	}
}

// TestSignedTextCannotBeCutElsewhere moves bytes between the ID and what follows it under one signature.
func TestSignedTextCannotBeCutElsewhere(t *testing.T) {
	cfg := headed()
	cfg.HMAC.Signed, cfg.HMAC.Timestamp, cfg.HMAC.Tolerance = "{id}.{body}", Timestamp{}, 0
	v := mustNew(t, cfg)
	d := withID(&delivery.Delivery{Method: "POST", Target: "/", Header: http.Header{}, Body: []byte(`1.5`)}, "evt", "k")
	header, err := v.Sign(d, noon)
	if err != nil {
		t.Fatal(err)
	}
	d.Header = merged(d.Header, header)
	authentic(t, v, d)
	moved := withID(d, "evt.1", "k")
	moved.Body = []byte("5")
	_, err = v.Authenticate(moved, noon)
	if reason, event := reasonOf(t, err); reason != SignedPartAmbiguous || event {
		t.Errorf("%v", err)
	}
}

func TestOneSetOfHeaders(t *testing.T) {
	cfg := Config{Scope: "acme/svix", Provider: "svix", Credentials: []Credential{{ID: "key", Secret: []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}}}
	v := mustNew(t, cfg)
	d := &delivery.Delivery{Method: "POST", Target: "/", Header: http.Header{}, Body: []byte(`{"type":"t"}`)}
	branded, err := v.Sign(d, noon)
	if err != nil {
		t.Fatal(err)
	}
	plain := http.Header{}
	for name, values := range branded {
		plain[strings.Replace(name, "Svix-", "Webhook-", 1)] = values
	}
	send := func(h http.Header) (Proof, error) {
		return v.Authenticate(&delivery.Delivery{Method: "POST", Target: "/", Header: h, Body: d.Body}, noon)
	}
	id := delivery.EventID(branded.Get("Svix-Id"))
	for name, h := range map[string]http.Header{
		"branded": branded, "plain": plain, "plain with a stray branded ID": merged(plain, http.Header{"Svix-Id": {"stray"}}),
		"branded with a stray plain ID": merged(branded, http.Header{"Webhook-Id": {"stray"}}),
	} {
		proof, err := send(h)
		if err != nil || proof.EventID != id || !proof.IDSigned {
			t.Errorf("%s: %+v, %v", name, proof, err)
		}
	}
	mixed := merged(plain, nil)
	mixed["Svix-Id"] = mixed["Webhook-Id"]
	delete(mixed, "Webhook-Id")
	if _, err := send(mixed); err == nil || v.Presented("POST", "/in", mixed) {
		t.Error("a mixed set is accepted")
	}
}

func TestJoinAndHash(t *testing.T) {
	cfg := ordersConfig()
	cfg.Event.ID = Source{Join: []Source{{JSON: "/a"}, {JSON: "/b/0"}, {Header: "X-C"}}}
	v := mustNew(t, cfg)
	id := func(body, header string) (delivery.EventID, bool, error) {
		d := order(body)
		d.Header.Set("X-C", header)
		proof, err := v.Authenticate(d, noon)
		return proof.EventID, proof.IDSigned, err
	}
	first, signed, err := id(`{"a":"x","b":[1]}`, "y")
	if err != nil || signed || string(first) != hashed([]byte("x"), []byte("1"), []byte("y")) {
		t.Errorf("%s, signed %v, %v", first, signed, err)
	}
	for _, other := range [][2]string{{`{"a":"x1","b":[""]}`, "y"}, {`{"a":"x","b":["1y"]}`, ""}, {`{"a":"x","b":[1]}`, "z"}} {
		if again, _, _ := id(other[0], other[1]); again == first {
			t.Errorf("%v has the same ID", other)
		}
	}
	if _, _, err := id(`{"a":"x"}`, "y"); err == nil {
		t.Error("a part is missing")
	}
	cfg.Event.ID = Source{Hash: "body"}
	cfg.Event.Type = Source{}
	v = mustNew(t, cfg)
	if proof := authentic(t, v, order("any\x00thing")); string(proof.EventID) != hashed([]byte("any\x00thing")) || !proof.IDSigned {
		t.Errorf("%+v", proof)
	}
	if _, err := v.Authenticate(order(""), noon); err == nil {
		t.Error("empty bodies are one event")
	}
}

func TestFormIDs(t *testing.T) {
	cfg := ordersConfig()
	cfg.Event = Event{ID: Source{Form: "id"}, Type: Source{Form: "kind"}}
	v := mustNew(t, cfg)
	if proof := authentic(t, v, order("a=1&id=evt%2D1&kind=paid&b")); proof.EventID != "evt-1" || proof.EventType != "paid" || !proof.IDSigned {
		t.Errorf("%+v", proof)
	}
	for body, want := range map[string]Reason{
		"id=a&id=a": EventIDMalformed, "id=a&%69d=b": EventIDMalformed, "id=": EventIDMissing, "": EventIDMissing, "id": EventIDMissing,
		"id=%zz": EventIDMalformed, "id=a+b": EventIDMalformed, "%zz=x": BodyMalformed,
	} {
		_, err := v.Authenticate(order(body), noon)
		if reason, event := reasonOf(t, err); reason != want || !event {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}

func TestFingerprints(t *testing.T) {
	prints := func(f Fingerprint, bodies ...string) []([32]byte) {
		cfg := headed()
		cfg.Fingerprint = f
		v := mustNew(t, cfg)
		var out [][32]byte
		for _, body := range bodies {
			out = append(out, authentic(t, v, withID(order(body), "evt-1", "k")).Fingerprint)
		}
		return out
	}
	for name, c := range map[string]struct {
		print    Fingerprint
		one, two string
		same     bool
	}{
		"whole body":                 {Fingerprint{Body: true}, `{"a":1}`, `{"a":1}`, true},
		"a space":                    {Fingerprint{Body: true}, `{"a":1}`, `{"a": 1}`, false},
		"default is the whole":       {Fingerprint{}, `{"a":1}`, `{"a":2}`, false},
		"included, same":             {Fingerprint{Include: []string{"/a"}}, `{"a":1,"b":2}`, `{"b":3,"a":1}`, true},
		"included, other":            {Fingerprint{Include: []string{"/a"}}, `{"a":1}`, `{"a":2}`, false},
		"included, other kind":       {Fingerprint{Include: []string{"/a"}}, `{"a":1}`, `{"a":"1"}`, false},
		"included, gone":             {Fingerprint{Include: []string{"/a"}}, `{"a":null}`, `{}`, false},
		"excluded, other":            {Fingerprint{Exclude: []string{"/n"}}, `{"a":1,"n":1}`, `{"a":1,"n":[2,{"x":3}]}`, true},
		"excluded, rest differs":     {Fingerprint{Exclude: []string{"/n"}}, `{"a":1,"n":1}`, `{"a":2,"n":1}`, false},
		"excluded, elsewhere":        {Fingerprint{Exclude: []string{"/n"}}, `{"m":{"n":1}}`, `{"m":{"n":2}}`, false},
		"excluded in every element":  {Fingerprint{Exclude: []string{"/*/n"}}, `[{"n":1},{"n":2}]`, `[{"n":3},{"n":4}]`, true},
		"excluded within excluded":   {Fingerprint{Exclude: []string{"/n", "/n/x"}}, `{"n":{"x":1}}`, `{"n":{"x":2,"y":3}}`, true},
		"excluded twice in one body": {Fingerprint{Exclude: []string{"/n"}}, `{"n":1,"n":2,"a":1}`, `{"n":3,"n":4,"a":1}`, true},
		"excluded, no JSON":          {Fingerprint{Exclude: []string{"/n"}}, `x`, `y`, false},
		"no body":                    {Fingerprint{}, ``, ``, true},
	} {
		found := prints(c.print, c.one, c.two)
		if (found[0] == found[1]) != c.same {
			t.Errorf("%s: same is %v, want %v", name, !c.same, c.same)
		}
	}
}

func TestTypes(t *testing.T) {
	cfg := ordersConfig()
	cfg.Event.Types = []string{"order.paid", "order.created"}
	v := mustNew(t, cfg)
	authentic(t, v, order(`{"id":"e","type":"order.created"}`))
	for body, want := range map[string]Reason{
		`{"id":"e","type":"order.deleted"}`: EventTypeRefused, `{"id":"e"}`: EventTypeMissing, `{"id":"e","type":null}`: EventTypeMissing,
	} {
		_, err := v.Authenticate(order(body), noon)
		if reason, event := reasonOf(t, err); reason != want || !event {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestOpaqueBodies: a type in JSON is optional where the ID is elsewhere, but a body that claims to be JSON must be.
func TestOpaqueBodies(t *testing.T) {
	cfg := headed()
	cfg.Event.Type = Source{JSON: "/type"}
	v := mustNew(t, cfg)
	for _, body := range []string{"", "plain", "\xff\xfe", "{"} {
		if proof := authentic(t, v, withID(order(body), "evt-1", "")); proof.EventType != "" {
			t.Errorf("%q: %+v", body, proof)
		}
	}
	d := withID(order("{"), "evt-1", "")
	d.Header.Set("Content-Type", "application/json; charset=utf-8")
	_, err := v.Authenticate(d, noon)
	if reason, event := reasonOf(t, err); reason != BodyMalformed || !event {
		t.Errorf("%v", err)
	}
}

func TestRepeatedIDHeaders(t *testing.T) {
	d := withID(order("{}"), "evt-1", "k")
	d.Header["X-Event-Id"] = []string{"evt-1", "evt-2"}
	_, err := mustNew(t, headed()).Authenticate(d, noon)
	if reason, event := reasonOf(t, err); reason != EventIDMalformed || !event {
		t.Errorf("%v", err)
	}
}

func TestObjects(t *testing.T) {
	v := mustNew(t, ordersConfig())
	for literal, want := range map[string]string{
		`"ord_1"`: "ord_1", `17`: "17", `"é"`: "é", `"a\nb"`: "", `{}`: "", `"\ud800"`: "", `"` + strings.Repeat("x", 256) + `"`: "", `null`: "",
	} {
		if proof := authentic(t, v, order(`{"id":"e","data":{"id":`+literal+`}}`)); proof.Object != want {
			t.Errorf("%s: %q, want %q", literal, proof.Object, want)
		}
	}
}

func TestRequire(t *testing.T) {
	cfg := ordersConfig()
	cfg.Require = map[string][]string{"/shop": {"one", "two"}, "/live": {"1"}}
	v := mustNew(t, cfg)
	authentic(t, v, order(`{"id":"e","shop":"two","live":1}`))
	for _, body := range []string{
		`{"id":"e","shop":"three","live":1}`, `{"id":"e","shop":"one"}`, `{"id":"e","live":1}`, `{"shop":"one","shop":"one","live":1}`, `no`, ``,
	} {
		proof, err := v.Authenticate(order(body), noon)
		if reason, event := reasonOf(t, err); reason != RequirementUnmet || event || proof != (Proof{}) {
			t.Errorf("%s: %+v, %v", body, proof, err)
		}
	}
	cfg = Config{Scope: "acme/gl", Provider: "gitlab", Require: map[string][]string{"/a": {"b"}},
		Credentials: []Credential{{ID: "key", Secret: []byte("token")}}}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "require./a: the signature does not cover it") {
		t.Errorf("an unsigned field is required: %v", err)
	}
}

// sample is a verifier and a genuine delivery of a preset.
func sample(t *testing.T, name string, body []byte) (*Verifier, *delivery.Delivery) {
	t.Helper()
	p, found := LookupPreset(name)
	if !found {
		t.Fatal(name)
	}
	v := mustNew(t, sampleConfig(p, []byte("0123456789abcdef0123456789abcdef")))
	if body == nil {
		body = sampleBody(p, "note")
	}
	return v, sampleDelivery(t, v, p, body)
}

func TestMailgunIsBoundToItsToken(t *testing.T) {
	v, d := sample(t, "mailgun", nil)
	first := authentic(t, v, d)
	if first.EventID != "e1" || first.IDSigned || !first.Bound() {
		t.Fatalf("%+v", first)
	}
	changed := *d
	changed.Body = []byte(strings.Replace(string(d.Body), `"id":"e1"`, `"id":"e2","more":1`, 1))
	if again := authentic(t, v, &changed); again.Binding != first.Binding || again.EventID != "e2" {
		t.Errorf("one token, two bindings: %+v", again)
	}
	other := authentic(t, v, sampleDelivery(t, v, v.preset, sampleBody(v.preset, "note")))
	if other.Binding == first.Binding {
		t.Error("two tokens, one binding")
	}
}

// A form that Twilio signed is no JSON, though its bytes may be moved until they are: fields have no separators in the
// signed text.
func TestTwilioFormIsNeverJSON(t *testing.T) {
	p, _ := LookupPreset("twilio")
	cfg := sampleConfig(p, []byte("0123456789abcdef0123456789abcdef"))
	cfg.Event.ID = Source{JSON: "/id"}
	v := mustNew(t, cfg)
	d := sampleDelivery(t, v, p, []byte("AccountSid=AC1&Body=%22%7D%7B%22id%22%3A%22fresh%22%2C%22x%22%3A%22&From=1"))
	if !v.accepts(d) {
		t.Fatal("the form does not verify")
	}
	moved := *d
	moved.Body = []byte(`{"id":"fresh","x":"From1&AccountSidAC1Body"}`)
	if proof, err := v.Authenticate(&moved, noon); err == nil {
		t.Errorf("%+v", proof)
	}
}

func TestAdyenIDs(t *testing.T) {
	v, d := sample(t, "adyen", nil)
	if proof := authentic(t, v, d); proof.EventID != "p1/CAPTURE" || !proof.IDSigned || proof.EventType != "CAPTURE" {
		t.Errorf("%+v", proof)
	}
	item := func(reference, code, merchant string) string {
		text, _ := json.Marshal(merchant)
		return `{"NotificationRequestItem":{"pspReference":"` + reference + `","eventCode":"` + code + `","merchantReference":` + string(text) +
			`,"success":true,"additionalData":{"hmacSignature":""}}}`
	}
	_, d = sample(t, "adyen", []byte(`{"notificationItems":[`+item("p1", "AUTHORISATION", "a:b:c")+`]}`))
	if proof := authentic(t, v, d); proof.EventID != "p1" {
		t.Errorf("%+v", proof)
	}
	if _, err := v.SignBody(&delivery.Delivery{Body: []byte(`{"notificationItems":[` + item("p:1", "X", "a") + `]}`)}, noon); err == nil {
		t.Error("a reference with a colon could be cut elsewhere")
	}
}

// Whoever has captured items gets no other event out of them, however they are put together.
func TestAdyenItemsComeAlone(t *testing.T) {
	item := func(v *Verifier, reference string) (*delivery.Delivery, string) {
		_, d := sample(t, "adyen", []byte(strings.Replace(string(sampleBody(v.preset, "note")), "p1", reference, 1)))
		_, list, _ := strings.Cut(string(d.Body), "[")
		return d, strings.TrimSuffix(list, "]}")
	}
	v, _ := sample(t, "adyen", nil)
	d, a := item(v, "a")
	_, b := item(v, "b")
	authentic(t, v, d)
	for body, want := range map[string]Reason{
		`{"notificationItems":[` + a + `,` + b + `]}`:                              SignatureListTooLong,
		`{"notificationItems":[` + a + `,` + a + `]}`:                              SignatureListTooLong,
		`{"notificationItems":[` + a + `,null]}`:                                   SignatureListTooLong,
		`{"notificationItems":[null,` + a + `]}`:                                   SignatureListTooLong,
		`{"notificationItems":[` + a + `],"notificationItems":[` + b + `]}`:        SignatureMissing,
		`{"notificationItems":{"0":` + a + `}}`:                                    SignatureMissing,
		`{"notificationItems":[]}`:                                                 SignatureMissing,
		`{"notificationItems":[` + strings.Replace(a, `"a"`, `"c"`, 1) + `]}`:      SignatureMismatch,
		`{"notificationItems":[` + strings.Replace(a, `"a"`, `"a:b"`, 1) + `]}`:    SignedPartAmbiguous,
		`{"notificationItems":[` + strings.Replace(a, `"CAPTURE"`, `[]`, 1) + `]}`: SignatureMalformed,
	} {
		forged := *d
		forged.Body = []byte(body)
		_, err := v.Authenticate(&forged, noon)
		if reason, event := reasonOf(t, err); reason != want || event {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
		if want == SignatureListTooLong {
			if _, err := v.SignBody(&forged, noon); err == nil {
				t.Errorf("%s: signed", body)
			}
		}
	}
}

// What Adyen signs can be required, as one key signs for several merchant accounts.
func TestAdyenMerchantIsRequired(t *testing.T) {
	p, _ := LookupPreset("adyen")
	cfg := sampleConfig(p, []byte("0123456789abcdef0123456789abcdef"))
	cfg.Require = map[string][]string{adyenItem + "merchantReference": {"note"}}
	v := mustNew(t, cfg)
	authentic(t, v, sampleDelivery(t, v, p, sampleBody(p, "note")))
	_, err := v.Authenticate(sampleDelivery(t, v, p, sampleBody(p, "other")), noon)
	if reason, _ := reasonOf(t, err); reason != RequirementUnmet {
		t.Errorf("another merchant's: %v", err)
	}
	cfg.Require = map[string][]string{adyenItem + "reason": {"x"}}
	if _, err := New(cfg); err == nil {
		t.Error("a field that is not signed is required")
	}
}

func TestBraintreePayloadIsOneEvent(t *testing.T) {
	v, d := sample(t, "braintree", nil)
	first := authentic(t, v, d)
	short := *d
	short.Body = []byte(strings.Replace(string(d.Body), "%0A&bt_signature", "&bt_signature", 1))
	if string(short.Body) == string(d.Body) {
		t.Fatalf("no line end behind the payload of %s", d.Body)
	}
	if proof := authentic(t, v, &short); proof.EventID != first.EventID || !strings.HasPrefix(string(first.EventID), "sha256:") {
		t.Errorf("two IDs: %s, %s", first.EventID, proof.EventID)
	}
}

func TestBatches(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want Reason
	}{
		"line":                {`{"events":[{"webhookEventId":"w1"},{"webhookEventId":"w2"}]}`, ""},
		"line, one":           {`{"events":[{"webhookEventId":"w1"}]}`, ""},
		"line, without":       {`{"events":[{"webhookEventId":"w1"},{}]}`, EventIDMissing},
		"line, odd":           {`{"events":[{"webhookEventId":[]}]}`, EventIDMalformed},
		"line, twice":         {`{"events":[{"webhookEventId":"a","webhookEventId":"b"}]}`, EventIDMalformed},
		"line, no array":      {`{"events":{}}`, EventIDMissing},
		"line, no JSON":       {`{"events":`, BodyMalformed},
		"hubspot":             {`[{"eventId":1,"subscriptionId":2,"occurredAt":3,"attemptNumber":0},{"eventId":2}]`, ""},
		"hubspot, without":    {`[{"subscriptionId":2}]`, EventIDMissing},
		"hubspot, not a list": {`{"eventId":1}`, EventIDMissing},
	} {
		sender, _, _ := strings.Cut(name, ",")
		v, d := sample(t, sender, []byte(c.body))
		proof, err := v.Authenticate(d, noon)
		reason, event := reasonOf(t, err)
		if reason != c.want || err != nil && !event || err == nil && !proof.IDSigned {
			t.Errorf("%s: %+v, %v", name, proof, err)
		}
		switch name {
		case "line, one":
			if proof.EventID != "w1" {
				t.Errorf("ID %q", proof.EventID)
			}
		case "line":
			if string(proof.EventID) != hashed([]byte("w1"), []byte("w2")) {
				t.Errorf("ID %q", proof.EventID)
			}
		}
	}
}

func TestHubSpotRetryIsTheSameEvent(t *testing.T) {
	v, first := sample(t, "hubspot", []byte(`[{"eventId":1,"occurredAt":3,"attemptNumber":0},{"eventId":2,"attemptNumber":0}]`))
	_, retry := sample(t, "hubspot", []byte(`[{"eventId":1,"occurredAt":3,"attemptNumber":1},{"eventId":2,"attemptNumber":1}]`))
	a, b := authentic(t, v, first), authentic(t, v, retry)
	if a.EventID != b.EventID || a.Fingerprint != b.Fingerprint {
		t.Errorf("a retry is another event: %+v, %+v", a, b)
	}
}

func TestHubSpotEscapesInTheURL(t *testing.T) {
	v, d := sample(t, "hubspot", []byte(`[{"eventId":1}]`))
	d.Target = "/in?to=a@b.c"
	header, err := v.Sign(d, noon)
	if err != nil {
		t.Fatal(err)
	}
	d.Header = header
	d.Target = "/in?to=a%40b.c"
	authentic(t, v, d)
}

func TestTwilioFieldsAreNotSigned(t *testing.T) {
	v, d := sample(t, "twilio", []byte("MessageSid=SM1&Body=hi"))
	d.Header.Set("I-Twilio-Idempotency-Token", "t1")
	first := authentic(t, v, d)
	moved := *d
	moved.Body = []byte("MessageSi=dSM1&Body=hi")
	again := authentic(t, v, &moved)
	if first.IDSigned || !first.Bound() || again.Binding != first.Binding {
		t.Errorf("%+v, %+v", first, again)
	}
	cfg := sampleConfig(v.preset, []byte("0123456789abcdef0123456789abcdef"))
	cfg.Event.ID = Source{Form: "MessageSid"}
	if proof := authentic(t, mustNew(t, cfg), d); proof.IDSigned || !proof.Bound() || proof.EventID != "SM1" {
		t.Errorf("%+v", proof)
	}
}

// The hash in a URL that Twilio signed is that of the body, whatever somebody made of the body and calls it.
func TestTwilioHashIsOfTheBody(t *testing.T) {
	body := []byte(`{"CallSid":"CA1"}`)
	v, d := sample(t, "twilio", nil)
	d.Body = body
	sum := sha256.Sum256(body)
	d.Target = "/in?bodySHA256=" + hex.EncodeToString(sum[:])
	d.Header = http.Header{"Content-Type": {"application/json"}}
	header, err := v.Sign(d, noon)
	if err != nil {
		t.Fatal(err)
	}
	d.Header = merged(d.Header, header)
	d.Header.Set("I-Twilio-Idempotency-Token", "t1")
	authentic(t, v, d)
	for name, other := range map[string]string{"emptied": "", "another": `{"CallSid":"CA2"}`, "a form of nothing": "=", "many of nothing": "&&=&", "a form": "a=b"} {
		for _, kind := range []string{"application/json", "application/x-www-form-urlencoded"} {
			changed := *d
			changed.Body = []byte(other)
			changed.Header = merged(d.Header, http.Header{"Content-Type": {kind}})
			if _, err := v.Authenticate(&changed, noon); err == nil {
				t.Errorf("%s as %s verifies", name, kind)
			}
		}
	}
}

// A form of which nothing is in the signed text is covered by nothing, though the URL's signature is good.
func TestTwilioFormOfNothingIsNotCovered(t *testing.T) {
	v, d := sample(t, "twilio", nil)
	d.Header.Set("I-Twilio-Idempotency-Token", "t1")
	authentic(t, v, d)
	for _, body := range []string{"=", "&", "=&=", "%="} {
		changed := *d
		changed.Body = []byte(body)
		changed.Header = merged(d.Header, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		if _, err := v.Authenticate(&changed, noon); err == nil {
			t.Errorf("%q verifies", body)
		}
	}
}

func TestMessageSignatureCoversItsID(t *testing.T) {
	v, d := sample(t, "rfc9421", nil)
	if proof := authentic(t, v, d); !proof.IDSigned || proof.Bound() {
		t.Errorf("%+v", proof)
	}
	cfg := sampleConfig(v.preset, []byte("0123456789abcdef0123456789abcdef"))
	cfg.Event.ID = Source{Header: "X-Other-Id"}
	d.Header.Set("X-Other-Id", "o1")
	if proof := authentic(t, mustNew(t, cfg), d); proof.IDSigned || !proof.Bound() {
		t.Errorf("%+v", proof)
	}
}

func TestIntercomRetryIsTheSameEvent(t *testing.T) {
	v, first := sample(t, "intercom", []byte(`{"id":"notif_1","delivery_attempts":1}`))
	_, retry := sample(t, "intercom", []byte(`{"id":"notif_1","delivery_attempts":2}`))
	if authentic(t, v, first).Fingerprint != authentic(t, v, retry).Fingerprint {
		t.Error("a retry is another event")
	}
}

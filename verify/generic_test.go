package verify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const ordersSecret = "orders-secret-0123456789abcdef"

// ordersConfig is the scheme that most tests use: hex HMAC-SHA256 over "{timestamp}.{body}", ID at /id.
func ordersConfig() Config {
	return Config{
		Scope: "acme/orders", Provider: "hmac",
		Credentials: []Credential{{ID: "orders-1", Secret: []byte(ordersSecret), Status: Active}},
		HMAC: &HMAC{
			Algorithm: "sha256", Header: "X-Signature", Prefix: "sha256=", Encoding: "hex",
			Signed: "{timestamp}.{body}", Timestamp: Timestamp{Header: "X-Timestamp", Unit: "s"},
			Tolerance: 5 * time.Minute, SecretEncoding: "raw",
		},
		Event: Event{ID: Source{JSON: "/id"}, Type: Source{JSON: "/type"}, Object: Source{JSON: "/data/id"}},
	}
}

func mustNew(t testing.TB, cfg Config) *Verifier {
	t.Helper()
	v, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func digestOf(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// signedAt is a genuine delivery for ordersConfig with any text as its timestamp.
func signedAt(secret, stamp, body string) *delivery.Delivery {
	return &delivery.Delivery{
		Method: "POST", Target: "/hooks/orders", Body: []byte(body),
		Header: http.Header{
			"X-Timestamp": {stamp}, "X-Signature": {"sha256=" + digestOf(secret, stamp+"."+body)},
		},
	}
}

func order(body string) *delivery.Delivery {
	return signedAt(ordersSecret, strconv.FormatInt(noon.Unix(), 10), body)
}

const orderBody = `{"id":"evt-1","type":"order.paid","data":{"id":"ord_1"},"amount":1250}`

func reasonOf(t testing.TB, err error) (Reason, bool) {
	t.Helper()
	if err == nil {
		return "", false
	}
	var rejection *Rejection
	if !errors.As(err, &rejection) {
		t.Fatalf("error %v is no rejection", err)
	}
	return rejection.Reason, rejection.Event
}

func TestGenuineDelivery(t *testing.T) {
	proof, err := mustNew(t, ordersConfig()).Authenticate(order(orderBody), noon)
	if err != nil {
		t.Fatal(err)
	}
	want := Proof{
		Scope: "acme/orders", CredentialID: "orders-1", SignedAt: noon, EventID: "evt-1", IDSigned: true,
		EventType: "order.paid", Object: "ord_1", Fingerprint: proof.Fingerprint,
	}
	if proof != want {
		t.Errorf("proof %+v, want %+v", proof, want)
	}
	if proof.Fingerprint == ([32]byte{}) {
		t.Error("no fingerprint")
	}
}

func TestForgeries(t *testing.T) {
	genuine := order(orderBody)
	digest := strings.TrimPrefix(genuine.Header.Get("X-Signature"), "sha256=")
	raw, _ := hex.DecodeString(digest)
	signed := func(values ...string) func(*delivery.Delivery) {
		return func(d *delivery.Delivery) { d.Header["X-Signature"] = values }
	}
	stamped := func(stamp string) func(*delivery.Delivery) {
		return func(d *delivery.Delivery) { *d = *signedAt(ordersSecret, stamp, orderBody) }
	}
	zeros := "sha256=" + strings.Repeat("00", 32)
	for name, c := range map[string]struct {
		change func(*delivery.Delivery)
		want   Reason
	}{
		"tampered body":      {func(d *delivery.Delivery) { d.Body = []byte(strings.Replace(orderBody, "1250", "9999", 1)) }, SignatureMismatch},
		"emptied body":       {func(d *delivery.Delivery) { d.Body = nil }, SignatureMismatch},
		"no header":          {func(d *delivery.Delivery) { delete(d.Header, "X-Signature") }, SignatureMissing},
		"empty":              {signed(""), SignatureMissing},
		"bare prefix":        {signed("sha256="), SignatureMalformed},
		"other prefix":       {signed("sha1=" + digest), SignatureMalformed},
		"prefix in capitals": {signed("SHA256=" + digest), SignatureMalformed},
		"no prefix":          {signed(digest), SignatureMalformed},
		"short":              {signed("sha256=" + digest[:62]), SignatureMalformed},
		"odd":                {signed("sha256=" + digest[:63]), SignatureMalformed},
		"long":               {signed("sha256=" + digest + "00"), SignatureMalformed},
		"not hex":            {signed("sha256=" + strings.Repeat("zz", 32)), SignatureMalformed},
		"base64":             {signed("sha256=" + base64.StdEncoding.EncodeToString(raw)), SignatureMalformed},
		"not ASCII":          {signed("sha256=" + strings.Repeat("é", 32)), SignatureMalformed},
		"huge":               {signed("sha256=" + strings.Repeat("ab", 100_000)), SignatureMalformed},
		"repeated header":    {signed(zeros, "sha256="+digest), SignatureRepeated},
		"good one first":     {signed("sha256="+digest, zeros), SignatureRepeated},
		"eleven":             {signed(strings.Repeat(zeros+",", 10) + "sha256=" + digest), SignatureListTooLong},
		"ten thousand":       {signed(strings.Repeat(zeros+",", 10_000)), SignatureListTooLong},
		"none of the list":   {signed(zeros + "," + zeros), SignatureMismatch},
		"inner space":        {signed("sha256= " + digest), SignatureMalformed},
		"stale":              {stamped(strconv.FormatInt(noon.Unix()-301, 10)), TimestampOutOfBounds},
		"future":             {stamped(strconv.FormatInt(noon.Unix()+301, 10)), TimestampOutOfBounds},
		"NaN":                {stamped("NaN"), TimestampMalformed},
		"1e18":               {stamped("1e18"), TimestampMalformed},
		"fraction":           {stamped(strconv.FormatInt(noon.Unix(), 10) + ".5"), TimestampMalformed},
		"sign":               {stamped("+" + strconv.FormatInt(noon.Unix(), 10)), TimestampMalformed},
		"negative":           {stamped("-1"), TimestampMalformed},
		"overflow":           {stamped("99999999999999999999"), TimestampMalformed},
		"far":                {stamped("999999999999999999"), TimestampMalformed},
		"milliseconds":       {stamped(strconv.FormatInt(noon.UnixMilli(), 10)), TimestampMalformed},
		"empty time":         {stamped(""), TimestampMissing},
		"no time":            {func(d *delivery.Delivery) { delete(d.Header, "X-Timestamp") }, TimestampMissing},
		"changed time":       {func(d *delivery.Delivery) { d.Header["X-Timestamp"] = []string{strconv.FormatInt(noon.Unix()-1, 10)} }, SignatureMismatch},
		"two times": {func(d *delivery.Delivery) {
			d.Header["X-Timestamp"] = append(d.Header["X-Timestamp"], strconv.FormatInt(noon.Unix()-1, 10))
		}, TimestampRepeated},
		"other key": {func(d *delivery.Delivery) {
			*d = *signedAt("other", strconv.FormatInt(noon.Unix(), 10), orderBody)
		}, SignatureMismatch},
		"empty key": {func(d *delivery.Delivery) {
			*d = *signedAt("", strconv.FormatInt(noon.Unix(), 10), orderBody)
		}, SignatureMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			forged := order(orderBody)
			c.change(forged)
			proof, err := mustNew(t, ordersConfig()).Authenticate(forged, noon)
			reason, event := reasonOf(t, err)
			// Milliseconds are a time in the far future or none at all; either way they are refused.
			if reason != c.want && !(name == "milliseconds" && reason == TimestampOutOfBounds) || event {
				t.Errorf("reason %q (event %v), want %q", reason, event, c.want)
			}
			if proof != (Proof{}) {
				t.Errorf("a rejected delivery proves %+v", proof)
			}
		})
	}
}

func TestGoodEntryOfAList(t *testing.T) {
	v := mustNew(t, ordersConfig())
	good := order(orderBody).Header.Get("X-Signature")
	zeros := "sha256=" + strings.Repeat("00", 32)
	for _, header := range []string{
		zeros + "," + good, good + ", " + zeros, "nonsense,,sha256=zz," + good, strings.Repeat(zeros+",", 9) + good,
		"sha256=" + strings.ToUpper(strings.TrimPrefix(good, "sha256=")),
	} {
		d := order(orderBody)
		d.Header.Set("X-Signature", header)
		if _, err := v.Authenticate(d, noon); err != nil {
			t.Errorf("%.60s…: %v", header, err)
		}
	}
}

func TestMalformedEvents(t *testing.T) {
	v := mustNew(t, ordersConfig())
	for body, want := range map[string]Reason{
		`{"type":"order.paid"}`: EventIDMissing,
		`{"id":""}`:             EventIDMissing,
		`{"id":null}`:           EventIDMissing,
		`{"id":{"a":1}}`:        EventIDMalformed,
		`{"id":["a"]}`:          EventIDMalformed,
		`{"id":true}`:           EventIDMalformed,
		`{"id":"` + strings.Repeat("x", 256) + `"}`: EventIDMalformed,
		`{"id":` + strings.Repeat("1", 256) + `}`:   EventIDMalformed,
		`{"id":"a\u0000b"}`:                         EventIDMalformed,
		`{"id":"a\r\nX-Evil: 1"}`:                   EventIDMalformed,
		`{"id":"a b"}`:                              EventIDMalformed,
		`{"id":"évé"}`:                              EventIDMalformed,
		`{"id":"\ud800"}`:                           EventIDMalformed,
		"{\"id\":\"a\xffb\"}":                       EventIDMalformed,
		`{"id":"one","id":"two"}`:                   EventIDMalformed,
		`{"id":"one","\u0069d":"one"}`:              EventIDMalformed,
		`id=evt`:                                    BodyMalformed,
		`{"id":"one"} {"id":"two"}`:                 BodyMalformed,
		`{"id":"one"}x`:                             BodyMalformed,
		`{"id":"one"`:                               BodyMalformed,
		`{"id":"one",}`:                             BodyMalformed,
		`{"id":01}`:                                 BodyMalformed,
		`{"id":"a","b":+1}`:                         BodyMalformed,
		"{\"id\":\"a\",\"b\":\"\n\"}":               BodyMalformed,
		`{'id':'a'}`:                                BodyMalformed,
		``:                                          BodyMalformed,
		`[{"id":"one"}]`:                            EventIDMissing,
		`{"data":{"id":"one"}}`:                     EventIDMissing,
		`{"id":"one","type":"a b"}`:                 EventTypeMalformed,
		`{"id":"one","type":{}}`:                    EventTypeMalformed,
		`{"id":"one","type":"a","type":"b"}`:        EventTypeMalformed,
		`{"id":"one","type":"` + strings.Repeat("x", 256) + `"}`:                         EventTypeMalformed,
		`{"id":"one","a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`: BodyMalformed,
	} {
		proof, err := v.Authenticate(order(body), noon)
		reason, event := reasonOf(t, err)
		if reason != want || !event {
			t.Errorf("%.60q: reason %q (event %v), want %q", body, reason, event, want)
		}
		if (proof != Proof{Scope: "acme/orders", CredentialID: "orders-1"}) {
			t.Errorf("%.60q: proof %+v, want scope and credential only", body, proof)
		}
	}
}

func TestEventIDsAreExact(t *testing.T) {
	v := mustNew(t, ordersConfig())
	for literal, want := range map[string]string{
		`"1"`: "1", `1`: "1", `1.0`: "1.0", `1e2`: "1e2", `-0`: "-0", `1E400`: "1E400", `9007199254740993`: "9007199254740993",
		`"\u0061\/b"`: "a/b", `"` + strings.Repeat("x", 255) + `"`: strings.Repeat("x", 255),
	} {
		for _, frame := range []string{`{"id":%}`, "\xef\xbb\xbf {\n\"a\" : [ 1, {\"id\":\"no\"} ] ,\r\n\t\"\\u0069d\" : % } \n"} {
			proof, err := v.Authenticate(order(strings.Replace(frame, "%", literal, 1)), noon)
			if err != nil || string(proof.EventID) != want {
				t.Errorf("%s in %q: ID %q, error %v", literal, frame, proof.EventID, err)
			}
		}
	}
}

package verify

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// closedReasons are the constants of rejection.go.
func closedReasons(t *testing.T) map[Reason]bool {
	t.Helper()
	source, err := os.ReadFile("rejection.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[Reason]bool{}
	for _, found := range regexp.MustCompile(`Reason = "([a-z_]+)"`).FindAllSubmatch(source, -1) {
		out[Reason(found[1])] = true
	}
	if len(out) < 20 {
		t.Fatalf("only %d reasons", len(out))
	}
	return out
}

// proves tells whether a vector's header is a part of the proof, judging by its name.
func proves(name string) bool {
	switch name {
	case "Box-Signature-Secondary": // either of two is enough
		return false
	case "X-Atlassian-Webhook-Identifier", "X-Shopify-Webhook-Id": // not signed
		return false
	}
	return regexp.MustCompile(`(?i)signature|hmac|-sig$|verification$|gitlab-token|webhook-timestamp|svix-timestamp|request-timestamp|webhook-id|svix-id|message-id|transmission-(id|time)`).
		MatchString(name)
}

// lists are vectors with more than one signature, of which some do not count.
func lists(v vector) bool {
	return regexp.MustCompile(`second|third|ignored|bad v1|list|entries|rotat`).MatchString(v.Name)
}

func goodVectors(t *testing.T) []vector {
	return slices.DeleteFunc(loadVectors(t), func(v vector) bool { return v.Expect != "valid" || v.MayBeRefused || lists(v) })
}

// TestBadHeaders mistreats every header of every good vector.
func TestBadHeaders(t *testing.T) {
	reasons := closedReasons(t)
	for _, vector := range goodVectors(t) {
		d, origin := vector.delivery(t)
		v, now := mustNew(t, vector.config(origin)), time.Unix(vector.NowUnix, 0)
		for name, values := range d.Header {
			for what, bad := range map[string][]string{
				"missing": nil, "empty": {""}, "repeated": {values[0], values[0]}, "repeated with an empty one": {"", values[0]},
				"truncated": {values[0][:len(values[0])/2]}, "without its last byte": {values[0][:len(values[0])-1]},
				"over-long": {strings.Repeat(values[0], 1+100_000/len(values[0]))}, "not ASCII": {"é\xff\x00" + values[0]},
				"ten thousand": {strings.Repeat(values[0]+",", 10_000)}, "ten thousand words": {strings.Repeat(values[0]+" ", 10_000)},
				"ten thousand fields": {strings.Repeat(values[0]+";", 10_000)},
			} {
				changed := *d
				changed.Header = merged(d.Header, http.Header{name: bad})
				if bad == nil {
					delete(changed.Header, name)
				}
				_, err := v.Authenticate(&changed, now)
				reason, event := reasonOf(t, err)
				if err != nil && !reasons[reason] {
					t.Errorf("%s %s: %s %s: reason %q is not of the closed set", vector.Provider, vector.Name, name, what, reason)
				}
				if proves(name) && (err == nil || event) {
					t.Errorf("%s %s: %s %s: accepted", vector.Provider, vector.Name, name, what)
				}
			}
		}
	}
}

// TestBadBodies mistreats the bodies: nothing may panic, and whatever is refused has a reason.
func TestBadBodies(t *testing.T) {
	reasons := closedReasons(t)
	bodies := [][]byte{
		nil, {0}, []byte("{"), []byte("[]"), []byte("null"), []byte(`{"id":"a","id":"b"}`), []byte(strings.Repeat("[", 100_000)),
		[]byte(strings.Repeat(`{"a":`, 100_000)), []byte(`"\ud800"`), []byte("\xff\xfe"), []byte("a=%zz&b"), []byte(strings.Repeat("a=1&", 100_000)),
		[]byte(`{"notificationItems":[` + strings.TrimSuffix(strings.Repeat(`{},`, 10_000), ",") + `]}`), []byte(`{"value":[1,{},null]}`),
		[]byte(`{"signature":{"timestamp":1,"token":[],"signature":"00"}}`), []byte(`{"Signature":"====","Type":"Notification"}`),
		[]byte("bt_signature=" + strings.Repeat("a|00%26", 10_000) + "&bt_payload=x"),
	}
	for _, vector := range goodVectors(t) {
		d, origin := vector.delivery(t)
		v, now := mustNew(t, vector.config(origin)), time.Unix(vector.NowUnix, 0)
		for _, body := range bodies {
			changed := *d
			changed.Body = body
			_, err := v.Authenticate(&changed, now)
			if reason, _ := reasonOf(t, err); err != nil && !reasons[reason] {
				t.Errorf("%s: reason %q", vector.Provider, reason)
			}
		}
	}
}

// TestSignaturesAreExact changes each character of the signatures in good vectors.
func TestSignaturesAreExact(t *testing.T) {
	for _, vector := range goodVectors(t) {
		d, origin := vector.delivery(t)
		v, now := mustNew(t, vector.config(origin)), time.Unix(vector.NowUnix, 0)
		accepts := func(d *delivery.Delivery) bool {
			_, rejection := v.authenticate(&document{delivery: d, tree: v.tree}, now)
			return rejection == nil
		}
		for name, values := range d.Header {
			if !proves(name) || strings.Contains(values[0], ",v0=") {
				continue
			}
			for i, c := range []byte(values[0]) {
				for _, other := range []byte{'0', 'A', c ^ 0x20, '='} {
					text := values[0][:i] + string(other) + values[0][i+1:]
					if text == values[0] || strings.EqualFold(text, values[0]) && !v.base64() {
						continue
					}
					changed := *d
					changed.Header = merged(d.Header, http.Header{name: {text}})
					if accepts(&changed) {
						t.Errorf("%s %s: %s: %q verifies in place of %q", vector.Provider, vector.Name, name, text, values[0])
					}
				}
			}
		}
	}
}

func pressed(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if encoding == "gzip" {
		w := gzip.NewWriter(&out)
		w.Write(body)
		w.Close()
	} else {
		w := zlib.NewWriter(&out)
		w.Write(body)
		w.Close()
	}
	return out.Bytes()
}

func TestCompressedBodies(t *testing.T) {
	v := mustNew(t, ordersConfig())
	bomb := append([]byte(`{"id":"evt-1","pad":"`), bytes.Repeat([]byte("x"), 3*maxDecoded)...)
	bomb = append(bomb, `"}`...)
	for name, c := range map[string]struct {
		encodings []string
		body      []byte
		want      Reason
	}{
		"gzip":               {[]string{"gzip"}, pressed(t, "gzip", []byte(orderBody)), ""},
		"gzip in capitals":   {[]string{"GZIP"}, pressed(t, "gzip", []byte(orderBody)), ""},
		"deflate":            {[]string{"deflate"}, pressed(t, "deflate", []byte(orderBody)), ""},
		"identity":           {[]string{"identity"}, []byte(orderBody), ""},
		"unknown":            {[]string{"br"}, []byte(orderBody), BodyMalformed},
		"two":                {[]string{"gzip", "gzip"}, pressed(t, "gzip", []byte(orderBody)), BodyMalformed},
		"not what it says":   {[]string{"gzip"}, []byte(orderBody), BodyMalformed},
		"cut":                {[]string{"gzip"}, pressed(t, "gzip", []byte(orderBody))[:40], BodyMalformed},
		"more behind it":     {[]string{"deflate"}, append(pressed(t, "deflate", []byte(orderBody)), "x"...), BodyMalformed},
		"bomb":               {[]string{"gzip"}, pressed(t, "gzip", bomb), BodyMalformed},
		"compressed, unsaid": {nil, pressed(t, "gzip", []byte(orderBody)), BodyMalformed},
	} {
		d := order(string(c.body))
		if c.encodings != nil {
			d.Header["Content-Encoding"] = c.encodings
		}
		proof, err := v.Authenticate(d, noon)
		reason, event := reasonOf(t, err)
		if reason != c.want || err != nil && !event || err == nil && proof.EventID != "evt-1" {
			t.Errorf("%s: %+v, %v, want %q", name, proof, err, c.want)
		}
	}
}

// TestSignedBodiesAreNotCompressed: such a body could be one thing as it is and another once it is decoded.
func TestSignedBodiesAreNotCompressed(t *testing.T) {
	for _, vector := range goodVectors(t) {
		d, origin := vector.delivery(t)
		v := mustNew(t, vector.config(origin))
		if !v.bodySigned {
			continue
		}
		d.Header.Set("Content-Encoding", "deflate")
		_, err := v.Authenticate(d, time.Unix(vector.NowUnix, 0))
		if reason, event := reasonOf(t, err); reason != BodyRefused || event {
			t.Errorf("%s: %v", vector.Provider, err)
		}
	}
}

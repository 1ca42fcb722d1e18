package verify

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// FuzzJSON compares the scanner with encoding/json on what is a document, and on the values of an object.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","b":[1,2,{"id":null}]}`, `[]`, `{"id":1e5}`, `{"id":"\ud83d\ude00\u0061"}`, `{"\u0069d":-0.5}`, "\"\xff\"", `{"id":"\ud800"}`, `01`, `{"a":1,}`,
		`{"id":"a","id":"b"}`, ` { } `, `nul`, `"\u00"`, `[1 2]`, strings.Repeat("[", 300),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree := items("/id", "/b/2/id", "/0")
		found, _, err := tree.scan(data)
		valid := json.Valid(data)
		bom := strings.HasPrefix(string(data), "\xef\xbb\xbf")
		if err == nil && !valid && !bom {
			t.Fatalf("%q is a document for us alone", data)
		}
		if err != nil {
			if valid && strings.Count(string(data), "[")+strings.Count(string(data), "{") <= maxDepth {
				t.Fatalf("%q is a document for encoding/json alone", data)
			}
			return
		}
		compareObject(t, data, found[0])
	})
}

func compareObject(t *testing.T, data []byte, found jsonValue) {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil || object == nil {
		if found.kind != absent {
			t.Fatalf("%q has no member for encoding/json", data)
		}
		return
	}
	raw, there := object["id"]
	if there != (found.kind != absent) {
		// encoding/json replaces invalid UTF-8 in keys, so that it may see an id that nobody wrote, but never the reverse.
		t.Fatalf("%q: there is %v for encoding/json", data, there)
	}
	if there && !found.repeated && string(raw) != string(found.raw) {
		t.Fatalf("%q: %q, encoding/json has %q", data, found.raw, raw)
	}
	var decoded string
	if value, state := found.scalar(); found.kind == text && state == present && json.Unmarshal(found.raw, &decoded) == nil && decoded != value {
		t.Fatalf("%q: %q, encoding/json has %q", data, value, decoded)
	}
}

// FuzzPointer finds no pointer that breaks the tree.
func FuzzPointer(f *testing.F) {
	for _, seed := range []string{"/id", "/a~1b/~0/0", "/", "//", "/-1", "/01", "id", "/~2", "/*/a"} {
		f.Add(seed, `{"id":1,"a/b":{"~":[{"x":1}]},"":{"":2}}`)
	}
	f.Fuzz(func(t *testing.T, pointer, document string) {
		tree := &pointerTree{}
		slot, err := tree.add(pointer)
		if err != nil {
			return
		}
		if found, _, err := tree.scan([]byte(document)); err == nil && found[slot].kind != absent && len(found[slot].raw) == 0 {
			t.Fatalf("%q: an empty value", pointer)
		}
	})
}

// FuzzSignatureHeader: whatever a header holds, what is read has the right size and the list is bounded.
func FuzzSignatureHeader(f *testing.F) {
	for _, seed := range []string{"t=1,v1=00", "v1,AAAA v1a,BBBB", "sha256=ab,sha256=cd", strings.Repeat(",", 100), "t=1,t=2", "v1=", "é"} {
		f.Add(seed)
	}
	all := []syntax{
		{separator: ',', prefix: "v1=", stamp: "t=", encoding: "hex"}, {separator: ' ', prefix: "v1,", public: "v1a,", encoding: "base64"},
		{prefix: "sha256=", encoding: "hex"}, {separator: ',', prefix: "sha256=", bare: true, encoding: "hex"}, {encoding: "base64"},
		{encoding: "hex", ed25519: true},
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, x := range all {
			found, rejection := x.parse(header, 32)
			if rejection != nil {
				continue
			}
			if n := len(found.macs) + len(found.public); n == 0 || n > maxSignatures {
				t.Fatalf("%q: %d signatures", header, n)
			}
			for _, mac := range found.macs {
				if len(mac) != 32 {
					t.Fatalf("%q: a MAC of %d bytes", header, len(mac))
				}
			}
		}
	})
}

// FuzzTime: a time that is read can be written again, in the one way.
func FuzzTime(f *testing.F) {
	for _, seed := range []string{"1780000000", "1780000000123", "2026-05-28T20:26:40.10822Z", "2020-01-01T00:00:00-07:00", "NaN", "-1", "1e9", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, unit := range []string{unitSeconds, unitMillis} {
			if at, rejection := parseTime(text, unit); rejection == nil && formatTime(at, unit) != text {
				t.Fatalf("%q in %s is %v", text, unit, at)
			}
		}
		if at, rejection := parseTime(text, unitRFC3339); rejection == nil && at.Year() > 9999 {
			t.Fatalf("%q is %v", text, at)
		}
	})
}

// FuzzTemplate: what is parsed can be built, and the check of its cuts does not panic.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"{timestamp}.{body}", "{id}{body}", "{header:X-A}.{header:X-B}", "{", "}", "{}", "a{method}b{url}c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseTemplate(text)
		if err != nil {
			return
		}
		_ = parsed.checkCuts()
		for i := range parsed {
			parsed.stops(i)
		}
	})
}

// FuzzForm never finds a field that is not there.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"id=a&b=c", "id=%zz", "i%64=a", "&&=&id", "id=a;id=b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, found, _, broken := formField(body, "id")
		if !found && value != "" {
			t.Fatalf("%q: %q", body, value)
		}
		if _, rejection := sortedFields(body); rejection == nil && broken {
			t.Fatalf("%q: malformed in one reading only", body)
		}
	})
}

// FuzzMessageSignature reads the fields of RFC 9421 and 9530.
func FuzzMessageSignature(f *testing.F) {
	f.Add(`sig1=("@method" "content-digest" "@query-param";name="a");created=1780000000;keyid="k"`, `sig1=:AAAA:`, `sha-256=:AAAA:`)
	f.Add(`a=(),b=()`, `a=::,b=::`, `x=:`)
	f.Add(`a=("`, `a`, `=`)
	p, _ := LookupPreset("rfc9421")
	v := mustNew(f, sampleConfig(p, []byte("0123456789abcdef0123456789abcdef")))
	f.Fuzz(func(t *testing.T, input, signature, digest string) {
		if inputs, ok := dictionary(input, innerList); ok {
			for _, item := range inputs {
				if !strings.Contains(input, item.source) {
					t.Fatalf("%q holds no %q", input, item.source)
				}
			}
		}
		d := &delivery.Delivery{Method: "POST", Target: "/in?a=1", Header: http.Header{
			"Signature-Input": {input}, "Signature": {signature}, "Content-Digest": {digest},
		}}
		if _, err := v.Authenticate(d, time.Unix(1780000000, 0)); err == nil {
			t.Fatalf("%q verifies", input)
		}
	})
}

// FuzzDelivery gives any headers and any body to every good vector's verifier: nothing may panic or verify.
func FuzzDelivery(f *testing.F) {
	var verifiers []*Verifier
	for _, vector := range loadVectors(f) {
		if vector.Expect != "valid" || len(verifiers) > 0 && verifiers[len(verifiers)-1].preset.Name == vector.Provider {
			continue
		}
		d, origin := vector.delivery(f)
		verifiers = append(verifiers, mustNew(f, vector.config(origin)))
		name := ""
		for header := range d.Header {
			name = header
		}
		f.Add(d.Method, d.Target, name, d.Header.Get(name), d.Body)
	}
	f.Fuzz(func(t *testing.T, method, target, name, value string, body []byte) {
		d := &delivery.Delivery{Method: method, Target: target, Header: http.Header{http.CanonicalHeaderKey(name): {value}}, Body: body}
		for _, v := range verifiers {
			proof, err := v.Authenticate(d, noon)
			if err != nil && err != ErrUnavailable {
				reasonOf(t, err)
			}
			if err == nil && proof.Scope != "acme/vectors" {
				t.Fatalf("%+v", proof)
			}
		}
	})
}

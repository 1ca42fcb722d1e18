package oracle

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// verifier judges signatures of one sender with one secret.
func verifier(t *rapid.T, provider, secret string) *verify.Verifier {
	v, err := verify.New(verify.Config{
		Scope: "oracle/oracle", Provider: provider, SignatureOnly: true,
		Credentials: []verify.Credential{{ID: "key", Secret: []byte(secret)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// accepts tells whether the signature verifies, whatever the event.
func accepts(v *verify.Verifier, header http.Header, body []byte, now time.Time) bool {
	_, err := v.Authenticate(&delivery.Delivery{Method: "POST", Target: "/in", Header: header, Body: body}, now)
	var rejection *verify.Rejection
	return err == nil || errors.As(err, &rejection) && rejection.Event
}

// sent is a request that a sender signed, and perhaps somebody changed.
type sent struct {
	secret string
	body   []byte
	at     time.Time
	now    time.Time
}

// drawSent keeps away from the last seconds of the tolerance, as the libraries read the clock themselves.
func drawSent(t *rapid.T) sent {
	now := time.Now()
	offset := rapid.SampledFrom([]int{0, -1, 1, -120, 200, -290, 290, -310, 310, -4000, 4000}).Draw(t, "offset")
	return sent{
		secret: rapid.StringMatching(`[A-Za-z0-9_]{8,40}`).Draw(t, "secret"),
		body:   drawBody(t),
		at:     now.Add(time.Duration(offset) * time.Second),
		now:    now,
	}
}

// drawBody is text or any bytes.
func drawBody(t *rapid.T) []byte {
	if rapid.Bool().Draw(t, "text") {
		return []byte(rapid.StringN(0, 100, 300).Draw(t, "body"))
	}
	return rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")
}

// spoil changes one thing about a request, or nothing. name is the header of the signature.
func spoil(t *rapid.T, header http.Header, body []byte, name string) []byte {
	value := header.Get(name)
	switch rapid.SampledFrom([]string{"nothing", "nothing", "body", "cut", "flip", "upper", "empty", "gone", "list", "list first", "prefix"}).Draw(t, "change") {
	case "body":
		return append(body, ' ')
	case "cut":
		header.Set(name, value[:len(value)-rapid.IntRange(1, len(value)-1).Draw(t, "bytes")])
	case "flip":
		at := rapid.IntRange(0, len(value)-1).Draw(t, "place")
		with := rapid.SampledFrom([]byte("0af9ZzA/+=")).Draw(t, "byte")
		header.Set(name, value[:at]+string(with)+value[at+1:])
	case "upper":
		header.Set(name, upperDigest(value))
	case "empty":
		header.Set(name, "")
	case "gone":
		header.Del(name)
	case "list":
		header.Set(name, value+separator(name)+other(name))
	case "list first":
		header.Set(name, firstOther(name, value))
	case "prefix":
		header.Set(name, strings.Replace(value, "v", "w", 1))
	}
	return body
}

func upperDigest(value string) string {
	at := strings.LastIndex(value, "=")
	if at < 0 || at == len(value)-1 {
		return value
	}
	return value[:at] + strings.ToUpper(value[at:])
}

func separator(name string) string {
	if name == "Webhook-Signature" {
		return " "
	}
	return ","
}

// other is one more entry that is no signature of this request.
func other(name string) string {
	if name == "Webhook-Signature" {
		return "v1," + strings.Repeat("A", 43) + "="
	}
	return "v1=" + strings.Repeat("00", 32)
}

func firstOther(name, value string) string {
	if stamp, rest, found := strings.Cut(value, ",v1="); found && name == "Stripe-Signature" {
		return stamp + "," + other(name) + ",v1=" + rest
	}
	return other(name) + separator(name) + value
}

func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, property)
}

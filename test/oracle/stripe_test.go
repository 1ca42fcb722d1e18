package oracle

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"

	"github.com/stripe/stripe-go/v85/webhook"
	"pgregory.net/rapid"
)

// TestStripe: both judge alike, but that Stripe's library lets times in the future pass, which the verifier does not.
func TestStripe(t *testing.T) {
	check(t, func(r *rapid.T) {
		s := drawSent(r)
		mac := hex.EncodeToString(webhook.ComputeSignature(s.at, s.body, s.secret))
		header := http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%s", s.at.Unix(), mac)}}
		body := spoil(r, header, s.body, "Stripe-Signature")
		theirs := webhook.ValidatePayload(body, header.Get("Stripe-Signature"), s.secret) == nil
		ours := accepts(verifier(r, "stripe", s.secret), header, body, s.now)
		future := s.at.Sub(s.now).Seconds() > 300
		if ours != (theirs && !future) {
			r.Fatalf("%v: the verifier says %v, the library %v", header, ours, theirs)
		}
	})
}

package oracle

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

// TestStandardWebhooks: both judge alike.
func TestStandardWebhooks(t *testing.T) {
	check(t, func(r *rapid.T) {
		s := drawSent(r)
		secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(s.secret))
		library, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			r.Fatal(err)
		}
		id := rapid.StringMatching(`msg_[A-Za-z0-9]{1,20}`).Draw(r, "id")
		signature, err := library.Sign(id, s.at, s.body)
		if err != nil {
			r.Fatal(err)
		}
		header := http.Header{
			"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(s.at.Unix(), 10)}, "Webhook-Signature": {signature},
		}
		body := spoil(r, header, s.body, rapid.SampledFrom([]string{"Webhook-Signature", "Webhook-Id"}).Draw(r, "header"))
		theirs := library.Verify(body, header) == nil
		if ours := accepts(verifier(r, "standard-webhooks", secret), header, body, s.now); ours != theirs {
			r.Fatalf("%v: the verifier says %v, the library %v", header, ours, theirs)
		}
	})
}

package verify

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// scheme is one way to prove where a delivery comes from. A scheme is built once for an integration and is safe for
// concurrent use.
type scheme interface {
	// key reads a credential's secret, which is not blank. The error tells what is wrong with its form, never what it holds.
	key(secret []byte) (any, error)
	// presented tells whether headers carry what has to be in them; true where the signature is in the body.
	presented(h http.Header) bool
	// verify finds the live credential that signed the delivery.
	verify(d *delivery.Delivery, now time.Time, keys ring) (evidence, *Rejection)
	// covers tells whether a valid signature vouches for the value of a source.
	covers(s Source) bool
}

// signer is a scheme with a shared secret: whoever can verify can also sign.
type signer interface {
	// sign gives the header fields of a signed delivery, with the event ID where the signature covers it in a header.
	sign(d *delivery.Delivery, now time.Time, by *credential) (http.Header, error)
}

// fetcher is a scheme whose public key can be fetched from the sender's own host.
type fetcher interface {
	fetched() (any, error)
}

// evidence is what a valid signature shows.
type evidence struct {
	by *credential
	at time.Time // the signed time; zero where there is none
	// covered is what the signature covers, without the time: the same again is a repetition, whatever else differs. It is
	// empty where no part of the event is covered.
	covered [][]byte
	idName  string   // header that holds the signed ID in this delivery, where its name varies
	headers []string // that this signature covers, where the sender chooses them each time; canonical
	content bool     // and it covers the body
}

// one gives the value of a header that must be there once.
func one(h http.Header, name string, missing, repeated Reason) (string, *Rejection) {
	switch values := h[name]; {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", reject(missing)
	case len(values) > 1:
		return "", reject(repeated)
	default:
		return values[0], nil
	}
}

func has(h http.Header, name string) bool {
	values := h[name]
	return len(values) > 0 && values[0] != ""
}

package verify

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// ErrSignedInBody tells that a sender puts its signature into the body: SignBody makes such a body.
var ErrSignedInBody = errors.New("the signature is part of the body")

// bodySigner is a scheme whose signature is part of the body.
type bodySigner interface {
	signBody(body []byte, now time.Time, by *credential) ([]byte, error)
}

// Sign gives the header fields that make a delivery genuine, by the first active credential, for schemes with a shared
// secret. An event ID that belongs in a header is taken from the delivery's or made up. The error is ErrSignedInBody where
// headers cannot do it.
func (v *Verifier) Sign(d *delivery.Delivery, now time.Time) (http.Header, error) {
	by, err := v.signing(now)
	if err != nil {
		return nil, err
	}
	if _, inside := v.scheme.(bodySigner); inside {
		return nil, fmt.Errorf("%s: %w", v.preset.Name, ErrSignedInBody)
	}
	signs, ok := v.scheme.(signer)
	if !ok {
		return nil, fmt.Errorf("%s: only the sender can sign, as there is no shared secret", v.preset.Name)
	}
	out, err := signs.sign(d, now, by)
	if err != nil {
		return nil, err
	}
	for _, id := range v.event.ids {
		if id.header != "" && len(out[id.header]) == 0 {
			out.Set(id.header, firstOr(d.Header, id.header, inventID))
			break
		}
	}
	return out, nil
}

// SignBody gives a body with the signature in it, by the first active credential, for senders that put it there.
func (v *Verifier) SignBody(d *delivery.Delivery, now time.Time) ([]byte, error) {
	by, err := v.signing(now)
	if err != nil {
		return nil, err
	}
	signs, ok := v.scheme.(bodySigner)
	if !ok {
		return nil, fmt.Errorf("%s: the signature is not part of the body", v.preset.Name)
	}
	return signs.signBody(d.Body, now, by)
}

func (v *Verifier) signing(now time.Time) (*credential, error) {
	if by := v.keys.signing(now); by != nil && by.Status == Active {
		return by, nil
	}
	return nil, errors.New("no active credential")
}

package proxy

import (
	"errors"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// verifier is the one in force at this moment, which may be another than when the request came: a credential that was
// revoked while a body was read or a duplicate waited counts no longer.
func (x *exchange) verifier() Verifier {
	if route := x.routeNow(); route != nil {
		return route.Verifier
	}
	return nobody{}
}

// routeNow is the route's successor in force; nil when there is none for this integration.
func (x *exchange) routeNow() *Route {
	route := x.table.Load().routes[x.route.Path]
	if route == nil || route.Scope != x.route.Scope {
		return nil
	}
	return route
}

// distrusted judges a delivery anew that has waited, by its time of arrival; nil: it is as genuine as before.
func (x *exchange) distrusted() *reply {
	verifier := x.verifier()
	if !verifier.Live(x.config.Now()) {
		return refusal(noLiveCredential())
	}
	if x.routeNow() == x.route {
		return nil
	}
	_, err := verifier.Authenticate(x.delivery, x.delivery.Received)
	var rejection *verify.Rejection
	switch {
	case errors.As(err, &rejection) && !rejection.Event:
		return refusal(signatureRejected(string(rejection.Reason)))
	case err != nil && rejection == nil:
		return refusal(verifierFailed(err))
	}
	return nil
}

// nobody verifies nothing: the integration has been taken away.
type nobody struct{}

func (nobody) Live(time.Time) bool                        { return false }
func (nobody) Presented(string, string, http.Header) bool { return false }
func (nobody) Authenticate(*delivery.Delivery, time.Time) (verify.Proof, error) {
	return verify.Proof{}, &verify.Rejection{Reason: verify.CredentialUnknown}
}

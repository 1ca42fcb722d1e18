package proxy

import (
	"errors"
	"net/http"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// PassFailed answers for the application where a request on an open path did not reach it, or got no answer. It keeps the
// headers that are already set.
func PassFailed(w http.ResponseWriter, _ *http.Request, err error) {
	cause := delivery.Incomplete
	switch {
	case errors.Is(err, upstream.ErrUnreachable):
		cause = delivery.Unreachable
	case errors.Is(err, upstream.ErrTimedOut):
		cause = delivery.TimedOut
	}
	answer := unanswered(cause)
	w.Header().Set("Content-Type", answer.header.Get("Content-Type"))
	send(w, answer)
}

package upstream

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Attempt is one handing-over of an event to the application: at most one request on the wire.
type Attempt struct {
	Delivery    *delivery.Delivery
	Scope       delivery.Scope
	EventType   string // empty: the header is left out
	Number      int    // 1, 2, …
	KeyHeader   string // name of the idempotency header
	KeyValue    string
	TraceParent string        // W3C traceparent to send; empty: none
	Timeout     time.Duration // of the whole attempt, connecting and reading the answer included
}

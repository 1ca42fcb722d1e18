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
	MaxResponse int64         // bytes of the answer's body to keep, where that is less than Config's; 0: Config's
	// Hold is asked before n bytes of memory more are taken for the answer's body; false: it is omitted. The first 16 KiB are
	// taken without asking. Called by Forward only, before it returns; nil: not asked.
	Hold func(n int64) bool
}

// maxResponse is how much of the answer's body is kept.
func (a *Attempt) maxResponse(most int64) int64 {
	if a.MaxResponse > 0 {
		return min(a.MaxResponse, most)
	}
	return most
}

func (a *Attempt) hold(n int64) bool { return n <= 0 || a.Hold == nil || a.Hold(n) }

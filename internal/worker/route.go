package worker

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Route is how one integration wants its jobs worked off.
type Route struct {
	Scope       delivery.Scope
	Hold        bool          // its jobs wait: it is paused or disabled
	Timeout     time.Duration // of one attempt at the application
	Concurrency int           // attempts at once by this process; 0: no limit of its own
	MaxBody     int64         // bytes of a body, as far as it is known
	KeyHeader   string        // idempotency header's name
	KeyScoped   bool          // its value is account/name/event_id
	Policy      dedupe.Policy
}

// key is the value of the idempotency header.
func (r *Route) key(id delivery.EventID) string {
	if r.KeyScoped {
		return string(r.Scope) + "/" + string(id)
	}
	return string(id)
}

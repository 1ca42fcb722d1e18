package proxy

import (
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// Route is one guarded path and how its integration wants deliveries handled. It does not change once it is served.
type Route struct {
	Scope          delivery.Scope
	Path           string // exact, as it stands in the request line
	Methods        []string
	Enabled        bool
	Paused         bool
	MaxBody        int64         // bytes
	Timeout        time.Duration // of one attempt at the application
	DuplicateWait  time.Duration // how long a duplicate waits for a running attempt
	InFlightStatus int
	ReplayConflict bool   // conflict: replay
	KeyHeader      string // idempotency header's name
	KeyScoped      bool   // its value is account/name/event_id
	Policy         dedupe.Policy
	Verifier       Verifier
	Accept         bool // mode: accept: deliveries are stored and acknowledged, and worked off later
	Acknowledge    Acknowledgement
}

// Acknowledgement tells a sender that its event is stored and will be worked off.
type Acknowledgement struct {
	Status      int
	Body        string
	ContentType string
}

// acknowledges tells whether this route's senders ever get the acknowledgement.
func (r *Route) acknowledges() bool { return r.Accept || r.Policy.OnFailure == dedupe.Queue }

// Verifier authenticates deliveries. Safe for concurrent use; see verify.Verifier.
type Verifier interface {
	Live(now time.Time) bool
	Presented(method, target string, h http.Header) bool
	Authenticate(d *delivery.Delivery, now time.Time) (verify.Proof, error)
}

// key is the value of the idempotency header.
func (r *Route) key(id delivery.EventID) string {
	if r.KeyScoped {
		return string(r.Scope) + "/" + string(id)
	}
	return string(id)
}

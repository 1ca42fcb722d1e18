package proxy

import (
	"context"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// Config is what a Proxy is made of.
type Config struct {
	Ledger      dedupe.Ledger
	Application Application
	Passthrough http.Handler              // the application, for open paths and for the senders' control messages; required
	RoutesOnly  bool                      // what no route guards is 404
	Guard       []string                  // path prefixes under which nothing passes that is no route
	Budget      int64                     // bytes of bodies being handled at once; 0: 256 MiB
	BodyTimeout time.Duration             // for reading a guarded body; 0: 30 s
	AnswerTime  time.Duration             // for a sender to take a large answer; 0: 1 min
	ClaimWait   time.Duration             // for a claim; 0: 3 s
	Held        func(delivery.Scope) bool // a person has paused the scope; nil: none is
	Watch       Watch                     // nil: nobody watches
	Now         func() time.Time          // nil: time.Now
}

// Application makes one attempt at the application; see upstream.Upstream.
type Application interface {
	Forward(ctx context.Context, a upstream.Attempt) delivery.Result
}

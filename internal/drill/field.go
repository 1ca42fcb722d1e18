package drill

import (
	"context"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Field is where a drill takes place: sidecars over one isolated ledger, with the files that Files names.
type Field interface { //nolint:interfacebloat // the one seam between the drill and the program that is drilled
	// Replicas are the public URLs of the sidecars that run during the whole drill; at least one.
	Replicas() []string
	// Shared tells that the ledger can be shared, so that one sidecar takes over where another died.
	Shared() bool
	// Ledger describes the ledger, without a password.
	Ledger() string
	// Receipts are all rows of the ledger of Replicas.
	Receipts(ctx context.Context) ([]dedupe.Receipt, error)
	// Sweep forgets what has outlived its retention.
	Sweep(ctx context.Context) error
	// Launch starts a sidecar in a process of its own: on the ledger of Replicas where that is shared, otherwise on one
	// that only launched processes use, one after another.
	Launch(ctx context.Context) (Process, error)
	// Logs is everything that the sidecars have logged so far, a JSON object a line.
	Logs() ([]byte, error)
}

// Process is a sidecar that may be killed.
type Process interface {
	// URL is that of its public listener.
	URL() string
	// Kill ends it as kill -9 does, and waits until it is gone.
	Kill()
}

package dedupe

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Vault is what of a store may be sealed, exactly as it is stored. Rewriting it changes no state, time, token or
// retention, so that it may go on beside everything else.
type Vault interface {
	// Kept returns one page of what is behind a cursor, which is empty at first, in an order of the store's own. What is
	// added or changed behind the cursor's back may be missed: walk again. A page looks at no more than limit rows, and ends
	// early once it holds so many bytes.
	Kept(ctx context.Context, kind VaultKind, after string, limit, bytes int) (VaultPage, error)
	// Rewrite replaces what is still as it was when it was read, and tells per item whether it was replaced. Items of a
	// batch are of distinct keys and of one kind. Errors are as in Store.
	Rewrite(ctx context.Context, kind VaultKind, items []VaultItem) ([]bool, error)
	// RecordRotation keeps who began to rewrite what is kept, and why. Sealing is the ID of the first key, or off.
	RecordRotation(ctx context.Context, sealing string, by Act) error
	// Rotations returns everything that RecordRotation ever wrote, oldest first.
	Rotations(ctx context.Context) ([]RotationAct, error)
}

// RotationAct is that a person began to rewrite what is kept.
type RotationAct struct {
	At      time.Time
	Sealing string // ID of the first key, or off
	Act
}

// VaultKind says which of the two that may be sealed.
type VaultKind uint8

// What may be sealed.
const (
	KeptRequests VaultKind = iota + 1
	KeptResults
)

// String is the kind as it stands in reports, logs and metrics.
func (k VaultKind) String() string {
	if k == KeptRequests {
		return "request"
	}
	return "result"
}

// VaultPage is one page of a walk.
type VaultPage struct {
	Items []VaultItem
	Next  string // cursor of the next page; empty: there is none
}

// VaultItem is one value.
type VaultItem struct {
	Key
	Version  []byte             // names the stored bytes: whoever rewrites gives back what was read
	Job      *Job               // KeptRequests
	Response *delivery.Response // KeptResults; with a body
}

package dedupe

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// CredentialStatus is where a credential is in its life, as it counts at a moment.
type CredentialStatus string

// The statuses of a credential. Stored; their words never change.
const (
	CredentialActive   CredentialStatus = "active"
	CredentialRetiring CredentialStatus = "retiring" // verifies too; its use is counted
	CredentialRevoked  CredentialStatus = "revoked"
	CredentialPending  CredentialStatus = "pending" // not yet valid
	CredentialExpired  CredentialStatus = "expired"
)

// CredentialChange says what happened to a credential, from a closed set.
type CredentialChange string

// The changes of a credential. Stored; their words never change.
const (
	CredentialCreated     CredentialChange = "created"      // nobody had seen its name
	CredentialRotated     CredentialChange = "rotated"      // another secret under the same name
	CredentialMoved       CredentialChange = "changed"      // to the status beside it, other than by these
	CredentialWasRevoked  CredentialChange = "revoked"      //
	CredentialHasExpired  CredentialChange = "expired"      //
	CredentialBroughtBack CredentialChange = "brought_back" // the file wants a revoked one to count again: it stays revoked
	CredentialRemoved     CredentialChange = "removed"      // from the file; the status beside it is its last one
)

// CredentialEvent is a step of a credential's life as one replica saw it. It never carries the secret.
type CredentialEvent struct {
	At          time.Time // by the ledger's clock
	Scope       delivery.Scope
	ID          string // of the credential
	Change      CredentialChange
	Status      CredentialStatus // after the change
	Fingerprint string           // of the secret, to compare two places with; empty where it is unknown
	Replica     string
}

// CredentialBook keeps the life of credentials as evidence. Both stores are one. Safe for concurrent use.
type CredentialBook interface {
	// RecordCredentials adds events in their order, all or none; At is set by the store. After an error it is unknown
	// whether they were added.
	RecordCredentials(ctx context.Context, events []CredentialEvent) error
	// CredentialEvents returns the newest events, newest first.
	CredentialEvents(ctx context.Context, limit int) ([]CredentialEvent, error)
	// LastOfCredentials returns the newest event of every credential there ever was, in any order.
	LastOfCredentials(ctx context.Context) ([]CredentialEvent, error)
}

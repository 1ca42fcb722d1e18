package dedupe

import (
	"context"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Errors that tell which way to go on.
var (
	// ErrClaimLost: the claim's lease ran out and somebody else decided about the event. Nothing was written.
	ErrClaimLost = errors.New("the claim was lost to a successor")
	// ErrNotFound: there is no receipt for the event.
	ErrNotFound = errors.New("no receipt")
	// ErrState: the receipt is in a state that does not allow the operation, or somebody else was faster.
	ErrState = errors.New("the receipt's state does not allow this")
)

// Ledger decides who may hand an event to the application, and remembers what came of it.
//
// Calls for one (scope, event ID) are linearizable across processes and restarts. What a call wrote is durable when it
// returns without an error. An error other than those above means unknown: the write may have been applied; the same
// call with the same token finds out. All methods are safe for concurrent use. The context bounds how long a call waits
// and tries; cancelling it does not undo a write.
type Ledger interface {
	// Claim decides what to do with a delivery, within its Wait. For Fresh the caller must Settle before the lease ends.
	Claim(ctx context.Context, r Request) (Decision, error)
	// Settle records what came of a claim; see Policy.Settle. It retries until ctx ends. ErrClaimLost is final.
	Settle(ctx context.Context, c Claim, s Settlement) error
	// Look says what Claim would, and changes nothing: where Claim would have run the event or stored it, it is InFlight
	// without a lease. ErrNotFound where there is no receipt. For whoever lost a claim and wants to tell the successor's
	// result.
	Look(ctx context.Context, r Request) (Decision, error)
}

// Settlement is the transition that ends a claim.
type Settlement struct {
	To       State // Applied, Retryable, Queued or Dead
	Reason   Reason
	Counts   bool               // false: surely not sent; the attempt's number is given back
	Response *delivery.Response // Applied: what is kept. Otherwise only its status is kept; nil: no answer
	Job      *Job               // Queued, and Dead where the request is at hand
	After    time.Duration      // Queued: until the next attempt
	Expires  time.Duration      // until the receipt may be forgotten; 0: never
	JobFor   time.Duration      // Dead: until the kept request may be forgotten
}

// Desk is what operators and the sweeper need of a ledger. Safe for concurrent use.
type Desk interface {
	// Receipt returns one receipt with its evidence; ErrNotFound.
	Receipt(ctx context.Context, scope delivery.Scope, id delivery.EventID) (Receipt, error)
	// Find returns the receipts with an event reference (delivery.Reference); it may scan. Usually none or one.
	Find(ctx context.Context, reference string) ([]Receipt, error)
	// List returns receipts without evidence, oldest change first.
	List(ctx context.Context, f Filter) ([]Receipt, error)
	// Reopen lets an applied event run again with its next delivery. ErrNotFound, ErrState.
	Reopen(ctx context.Context, scope delivery.Scope, id delivery.EventID, by Act) error
	// Replay lets a dead event run again: queued where its request was kept and the caller can work jobs off, else
	// retryable. ErrNotFound, ErrState.
	Replay(ctx context.Context, scope delivery.Scope, id delivery.EventID, by Act) (State, error)
	// Close ends a dead event; later duplicates are answered with status. ErrNotFound, ErrState.
	Close(ctx context.Context, scope delivery.Scope, id delivery.EventID, status int, by Act) error
	// Sweep settles claims whose lease has run out and forgets what has outlived its retention, one bounded batch at a
	// time. It returns what it did; call again soon while More is set.
	Sweep(ctx context.Context) (Swept, error)
	// Attention counts the receipts per scope that are not finished, and their oldest ages.
	Attention(ctx context.Context) ([]Attention, error)
}

// Act is who changes something by hand, and why. Both are recorded.
type Act struct {
	Actor  string
	Reason string
}

// Filter selects receipts. Zero fields do not restrict.
type Filter struct {
	Scope  delivery.Scope
	States []State
	Limit  int // default 100
	Offset int
}

// Receipt is what the ledger knows of an event.
type Receipt struct {
	Scope        delivery.Scope
	EventID      delivery.EventID
	Reference    string
	State        State
	Reason       Reason
	Attempts     int
	CredentialID string // of the first delivery
	EventType    string
	Object       string
	Trace        string
	Bound        bool // the ID is not signed and bound to the signed content
	Fingerprint  [32]byte
	Created      time.Time // first claim
	Changed      time.Time // last transition
	LeaseUntil   time.Time // Claimed
	NextAttempt  time.Time // Queued
	Expires      time.Time // zero: never
	Status       int       // recorded, last or chosen; 0: none
	Response     *delivery.Response
	HasJob       bool
	Sealed       *SealedError // the recorded result cannot be opened, and Response is nil
	JobSealed    *SealedError // the kept request cannot be opened
	Evidence     []Evidence
	Head         Sum // of the last chained row of evidence, as the receipt knows it; zero: none
}

// Swept is what one Sweep did.
type Swept struct {
	Expired   int // claims whose lease had run out
	Forgotten int // receipts past their retention
	Jobs      int // kept requests past their retention
	More      bool
}

// Attention is what a scope has open.
type Attention struct {
	Scope delivery.Scope
	State State
	Count int64
	// Oldest is the age of the oldest by the ledger's clock: since its last change, but of queued and retryable
	// events since they first came, which no attempt makes younger.
	Oldest time.Duration
}

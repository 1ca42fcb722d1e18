package dedupe

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Store keeps rows and decides nothing: the rules are written once, in Keeper, and the stores cannot disagree about them.
//
// Every call takes a batch, because concurrent calls are grouped into one statement and one commit. Rows of a batch have
// distinct keys and are sorted by key; bindings may repeat within a batch. A batch is applied as a whole and is durable
// when the call returns nil; after any error it is unknown whether it was applied, unless the error is ErrBatch or ErrRow.
// An empty batch does nothing. All times are the store's own clock. All methods are safe for concurrent use.
type Store interface {
	// Insert adds each row unless one with its (scope, event ID), or with its (scope, binding), exists: then it returns
	// that row as it is now (the one with the ID first). Two concurrent Inserts of one key add one row. Answers are in the
	// order of rows. A row added as Claimed has attempt 1 and no reason; one added as Queued has attempt 0, reason
	// Accepted, and its next attempt is now. Neither has a status, a response, or a time to be forgotten.
	Insert(ctx context.Context, rows []NewRow) ([]Found, error)
	// Move changes each row that still has the state and token it is expected to have, and adds the evidence, all in one
	// transaction. It returns, per move and in their order, whether it was made; one that was not made writes nothing.
	Move(ctx context.Context, moves []Move) ([]bool, error)
	// Read returns the rows that exist, in any order, as last committed.
	Read(ctx context.Context, keys []Key) ([]Row, error)
}

// ErrBatch tells that a batch was surely not applied and that one of its rows is to blame (a lock somebody holds, a value
// the store refuses): its rows are to be tried one by one. A single row that a lock holds back fails with it, too.
var ErrBatch = errors.New("the batch was refused as a whole")

// ErrRow tells that a batch of a single row was refused for good and surely not applied: trying it again cannot help.
var ErrRow = errors.New("the row was refused")

// Key names a row.
type Key struct {
	Scope   delivery.Scope
	EventID delivery.EventID
}

// NewRow is a row to insert: claimed with a lease, or queued with a job.
type NewRow struct {
	Key
	Fingerprint  [sha256.Size]byte
	Binding      [sha256.Size]byte // zero: none
	CredentialID string
	EventType    string
	Object       string
	Trace        string
	State        State // Claimed or Queued
	Token        Token
	Lease        time.Duration // Claimed: until now + Lease
	// OnExpiry is what the sweeper makes of the claim when its lease has run out: Retryable, Queued or Dead.
	OnExpiry State
	Job      *Job // Queued
	// FromReason is why the row was in the state that this claim found it in; it is given back with that. Not stored.
	FromReason Reason
}

// Found is the answer to one NewRow.
type Found struct {
	Inserted bool
	Row      Row       // the existing row, where not inserted
	Now      time.Time // by the store's clock, when Row was read
}

// Row is a stored receipt.
type Row struct {
	Key
	Fingerprint  [sha256.Size]byte
	Binding      [sha256.Size]byte
	CredentialID string
	EventType    string
	Object       string
	Trace        string
	State        State
	Reason       Reason
	Attempt      int
	Token        Token // of the last claim, also when the row has left Claimed
	OnExpiry     State // of a Claimed row; nothing is promised in other states
	Created      time.Time
	Changed      time.Time
	LeaseUntil   time.Time // Claimed
	NextAttempt  time.Time // Queued
	Expires      time.Time // zero: never
	Status       int
	Response     *delivery.Response // Applied
	HasJob       bool
	Sealed       *SealedError // the recorded result cannot be opened, and Response is nil
}

// moved tells that the row is not as it was inserted. Most such rows have evidence.
func (row *Row) moved() bool { return !row.Changed.Equal(row.Created) }

// Move is one transition. It sets Changed to the store's now; what is not named here (Created, Fingerprint, …) stays as it
// is. FromState may equal To.
type Move struct {
	Key
	FromState State
	FromToken Token

	To       State
	Token    Token // the new token; FromToken where nobody claims
	Attempt  int
	Reason   Reason
	Status   int                // 0 clears it
	Response *delivery.Response // nil clears it
	Lease    time.Duration      // Claimed: lease until now + Lease
	OnExpiry State              // Claimed
	After    time.Duration      // Queued: next attempt at now + After
	Expires  time.Duration      // receipt may be forgotten at now + Expires; 0: never
	Job      *Job               // to keep; nil leaves the kept one, if any
	DropJob  bool
	JobFor   time.Duration // Dead: kept request, if any, may be forgotten at now + JobFor; 0: never
	Evidence *Evidence     // nil on the happy path; what is the store's in it is set by the store
	// What a claim needs to be given back; not stored. CredentialID is whose it is, FromReason why the row was in FromState,
	// and Kept tells that its request is kept.
	CredentialID string
	FromReason   Reason
	Kept         bool
}

// Archive is what operators read of a store. Listing and finding may be slow; they never lock.
type Archive interface {
	// Evidence returns the transitions of one event that were not the happy path, oldest first, and what its receipt knows as
	// the Sum of the last chained one, both from one look.
	Evidence(ctx context.Context, key Key) ([]Evidence, Sum, error)
	// Find returns the rows with an event reference (delivery.Reference).
	Find(ctx context.Context, reference string) ([]Row, error)
	// List returns the rows that match, oldest change first.
	List(ctx context.Context, f Filter) ([]Row, error)
	// Attention counts the rows that are claimed, retryable, queued or dead, per scope and state.
	Attention(ctx context.Context) ([]Attention, error)
}

// Attic is what the sweeper needs of a store.
type Attic interface {
	// Expired returns up to limit claimed rows whose lease ran out at least grace ago, the oldest first. What somebody else
	// holds is passed over, and found again. Replicas that ask may get the same rows; the moves that follow are fenced.
	Expired(ctx context.Context, grace time.Duration, limit int) ([]Row, error)
	// Forget deletes up to limit receipts whose time is over (never a claimed or queued one) with their evidence and kept
	// request, and up to limit kept requests whose time is over, of dead events only. An event goes as a whole or stays as a
	// whole. Replicas that forget at the same time share the work, and nobody waits for a row that somebody else holds: it is
	// passed over, and found again. A receipt whose request went has another token: a move that counts on it is not made.
	Forget(ctx context.Context, limit int) (receipts, jobs int, err error)
}

// Backend is all that a Keeper needs of a store.
type Backend interface {
	Store
	Archive
	Attic
	Jobs
	Pauses
	Vault
}

// Jobs are the kept requests of a store.
type Jobs interface {
	// Job returns the request kept for an event; ErrNotFound.
	Job(ctx context.Context, key Key) (*Job, error)
	// Requests returns the requests kept for events, in the order of keys; nil where there is none.
	Requests(ctx context.Context, keys []Key) ([]*Job, error)
	// Unopened tells which kept requests cannot be opened, and why, in the order of keys; nil where one can be or there is
	// none. It looks at which key is wanted and not at the whole request. A request that cannot be opened is returned by
	// Requests with nothing but Sealed, and by Job as an error.
	Unopened(ctx context.Context, keys []Key) ([]*SealedError, error)
	// Due returns up to limit queued rows of each of these scopes whose time has come, oldest first, and which scopes are
	// paused. It is one look at the store, cheap enough to ask every second. Claiming a row is a Move.
	Due(ctx context.Context, scopes []delivery.Scope, limit int) (Due, error)
}

// Due is what a worker may do now.
type Due struct {
	Rows []Row
	Now  time.Time        // by the store's clock; zero where there are no rows
	Held []delivery.Scope // every scope that a person has paused, in any order
}

// Pauses are the scopes that persons hold.
type Pauses interface {
	// SetPaused pauses a scope or lets it go on. Where it is so already it returns false and writes nothing.
	SetPaused(ctx context.Context, scope delivery.Scope, paused bool, by Act) (bool, error)
	// PauseActs returns everything that SetPaused ever wrote, oldest first.
	PauseActs(ctx context.Context) ([]PauseAct, error)
}

// PauseAct is a person's word on whether a scope is held.
type PauseAct struct {
	At     time.Time
	Scope  delivery.Scope
	Paused bool
	Act
}

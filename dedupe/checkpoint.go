package dedupe

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Checkpoint seals rows of a scope's evidence.
type Checkpoint struct {
	Scope    delivery.Scope
	Number   int64 // 1, 2, …
	At       time.Time
	Oldest   int64  // number of the oldest checkpoint that was still needed
	Leaves   []byte // what is sealed, packed by package audit
	Previous Sum    // of the checkpoint before this one
	Sum      Sum
}

// Total is the Sum that a checkpoint with these contents has.
func (c *Checkpoint) Total() Sum {
	number := func(n int64) []byte { return appendMicros(nil, n) }
	leaves := sha256.Sum256(c.Leaves)
	return delivery.HashParts([]byte("checkpoint"), c.Previous[:], []byte(c.Scope), number(c.Number),
		number(c.At.UnixMicro()), number(c.Oldest), leaves[:])
}

// Tag names an event in a checkpoint: the bytes of its reference.
func Tag(scope delivery.Scope, id delivery.EventID) [8]byte {
	var tag [8]byte
	sum := delivery.HashParts([]byte(scope), []byte(id))
	copy(tag[:], sum[:])
	return tag
}

// Sealable is a row of evidence as a checkpoint looks at it.
type Sealable struct {
	ID      int64
	EventID delivery.EventID
	Until   time.Time
	Sum     Sum
	Orphan  bool // there is no receipt, and its time was not over
}

// Sealables are rows, by the store's clock.
type Sealables struct {
	Rows []Sealable
	Now  time.Time
}

// Ends are the ends of a scope's chain of checkpoints, all from one look.
type Ends struct {
	Newest Checkpoint // without leaves; number 0: there is none
	First  int64      // lowest number that is marked on a row of evidence; 0: none
	Last   int64      // highest
}

// Checkpoints keep a store's evidence from being changed unnoticed. Both stores have them. Safe for concurrent use.
type Checkpoints interface {
	// Unsealed returns the scopes in which a chained row of evidence has no checkpoint.
	Unsealed(ctx context.Context) ([]delivery.Scope, error)
	// Seal adds a checkpoint and marks its rows, those that are still there and have no mark, all or nothing. Where a
	// checkpoint of that number or a higher one exists it changes nothing and returns false: that of the number may be retired
	// already. After an error it is unknown whether it did.
	Seal(ctx context.Context, c Checkpoint, rows []int64) (bool, error)
	// Retire deletes up to limit checkpoints of a scope with a number below, the lowest first.
	Retire(ctx context.Context, scope delivery.Scope, below int64, limit int) error
	Trail
}

// Trail is what an auditor reads of a scope's checkpoints. Each call sees one state of the ledger and locks no row.
type Trail interface {
	// Ends tells where a scope's chain of checkpoints begins and ends.
	Ends(ctx context.Context, scope delivery.Scope) (Ends, error)
	// Chain returns up to limit checkpoints of a scope from a number on, in order.
	Chain(ctx context.Context, scope delivery.Scope, from int64, limit int) ([]Checkpoint, error)
	// Marked returns up to limit chained rows of a scope with a checkpoint's number, or 0 for none, whose ID is above after,
	// in the order of their IDs.
	Marked(ctx context.Context, scope delivery.Scope, number, after int64, limit int) (Sealables, error)
}

// Histories are whole events. Each call sees one state of the ledger and locks no row.
type Histories interface {
	// Scopes returns every scope that the ledger has something of, in order.
	Scopes(ctx context.Context) ([]delivery.Scope, error)
	// Strays counts what is of none of these scopes: scopes that have rows and no name, or rows of evidence that have no receipt
	// to say their scope.
	Strays(ctx context.Context) (int64, error)
	// History returns up to limit receipts of a scope whose event ID is above after, in order, with their evidence.
	History(ctx context.Context, scope delivery.Scope, after delivery.EventID, limit int) ([]History, error)
}

// History is a receipt, without its recorded response, and all of its evidence in order.
type History struct {
	Row
	Head     Sum // of the last chained row of evidence, as the receipt knows it; zero: none
	Evidence []Evidence
}

// Receipt is the history as people see it.
func (h *History) Receipt() Receipt {
	receipt := h.receipt()
	receipt.Evidence, receipt.Head = h.Evidence, h.Head
	return receipt
}

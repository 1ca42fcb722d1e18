package dedupe

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Meter tells what a ledger takes and what comes in. It reads only, locks nothing that deliveries need, and looks at a
// sample of a large ledger. Safe for concurrent use.
type Meter interface {
	// Measure looks at every table, and counts the receipts that came in within the window before now.
	Measure(ctx context.Context, window time.Duration) (Measured, error)
}

// Measured is what a Meter found.
type Measured struct {
	At     time.Time // by the ledger's clock
	Tables []TableSize
	Window time.Duration
	// Covered is how much of the window the receipts that were looked at reach back over: less than the window where the
	// ledger is younger.
	Covered time.Duration
	Inflow  []Inflow // by scope; scopes without receipts are left out
}

// TableSize is what one table takes, in bytes on disk.
type TableSize struct {
	Name    string
	Rows    int64
	Share   float64 // of the table that was looked at, above 0 and at most 1: then Rows is exact
	Heap    int64   // rows, without what is stored apart because it is long
	Apart   int64   // long values that are stored apart (TOAST, overflow pages)
	Unused  float64 // share of Heap and Apart that holds no row: free for new ones, or dead
	Dead    int64   // rows that vacuum has still to remove, as far as the database knows
	Indexes []IndexSize
}

// IndexSize is what one index takes.
type IndexSize struct {
	Name    string
	Bytes   int64
	Entries int64 // exact where the table's Share is 1
}

// Inflow is how many receipts a scope had in all and how many of them came in within the window.
type Inflow struct {
	Scope    delivery.Scope
	Receipts int64
	Recent   int64
}

// IndexBytes is what all indexes of the table take.
func (t TableSize) IndexBytes() int64 {
	var sum int64
	for _, index := range t.Indexes {
		sum += index.Bytes
	}
	return sum
}

// Bytes is what the table takes with everything that belongs to it.
func (t TableSize) Bytes() int64 { return t.Heap + t.Apart + t.IndexBytes() }

// Table finds a table by its name; an empty one where there is none.
func (m Measured) Table(name string) TableSize {
	for _, table := range m.Tables {
		if table.Name == name {
			return table
		}
	}
	return TableSize{Name: name, Share: 1}
}

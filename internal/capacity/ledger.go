package capacity

import (
	"math"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	// Enough is how many receipts a ledger must have before its bytes per receipt say anything: below, pages are mostly
	// empty.
	Enough = 10_000
	// brief is a time in which too little comes in to tell a rate by.
	brief = time.Hour
)

// Ledger is what was measured beside the plan.
type Ledger struct {
	Ledger string    `json:"ledger"`
	At     time.Time `json:"at"`
	Tables []Table   `json:"tables"`
	// BytesPerReceipt is what the tables that grow with receipts take for each, their unused space included.
	BytesPerReceipt Factor   `json:"bytes_per_receipt"`
	Observed        Observed `json:"observed"`
	Notes           []string `json:"notes"`
}

// Table is what one table takes. What is per row is left out where there are no rows.
type Table struct {
	Name             string   `json:"table"`
	Rows             int64    `json:"rows"`
	Sampled          float64  `json:"sampled"` // share of the table that was looked at; below 1 rows and entries are estimates
	HeapBytes        int64    `json:"heap_bytes"`
	ToastBytes       int64    `json:"toast_bytes"`
	IndexBytes       int64    `json:"index_bytes"`
	BytesPerRow      *float64 `json:"bytes_per_row,omitempty"` // heap and TOAST
	IndexBytesPerRow *float64 `json:"index_bytes_per_row,omitempty"`
	UnusedShare      float64  `json:"unused_share"`
	DeadRows         int64    `json:"dead_rows"`
	Indexes          []Index  `json:"indexes"`
}

// Index is what one index takes.
type Index struct {
	Name          string   `json:"index"`
	Bytes         int64    `json:"bytes"`
	Entries       int64    `json:"entries"`
	BytesPerEntry *float64 `json:"bytes_per_entry,omitempty"`
}

// Observed is what came in, and what it will cost once receipts go as fast as they come.
type Observed struct {
	WindowSeconds  float64     `json:"window_seconds"`
	CoveredSeconds float64     `json:"covered_seconds"` // of the window; less where the ledger is younger
	Scopes         []ScopeCost `json:"scopes"`
	ReceiptsPerDay float64     `json:"receipts_per_day"`
	SteadyReceipts float64     `json:"steady_receipts"`
	SteadyBytes    float64     `json:"steady_bytes"`
}

// ScopeCost is one scope's part.
type ScopeCost struct {
	Scope          delivery.Scope `json:"scope"`
	Receipts       int64          `json:"receipts"`
	ReceiptsPerDay float64        `json:"receipts_per_day"`
	RetentionDays  float64        `json:"retention_days"`
	Configured     bool           `json:"configured"` // false: no integration has the scope; the default retention is taken
	SteadyReceipts float64        `json:"steady_receipts"`
	SteadyBytes    float64        `json:"steady_bytes"`
}

// NewLedger judges what was measured. Retention tells how long a scope's receipts are kept, false for one that nobody
// configured.
func NewLedger(name string, m dedupe.Measured, retention func(delivery.Scope) (time.Duration, bool)) Ledger {
	l := Ledger{Ledger: name, At: m.At.UTC(), Tables: []Table{}, Notes: []string{}}
	for _, table := range m.Tables {
		l.Tables = append(l.Tables, newTable(table))
		if table.Share < 1 {
			l.Notes = append(l.Notes, table.Name+" is large: "+percent(table.Share)+
				" of its pages were looked at, so that its rows and entries are estimates, and a scope with few receipts may be missing")
		}
	}
	l.BytesPerReceipt = bytesPerReceipt(m)
	l.observe(m, retention)
	return l
}

func newTable(t dedupe.TableSize) Table {
	table := Table{
		Name: t.Name, Rows: t.Rows, Sampled: t.Share, HeapBytes: t.Heap, ToastBytes: t.Apart, IndexBytes: t.IndexBytes(),
		BytesPerRow: each(t.Heap+t.Apart, t.Rows), IndexBytesPerRow: each(t.IndexBytes(), t.Rows),
		UnusedShare: t.Unused, DeadRows: t.Dead, Indexes: []Index{},
	}
	for _, index := range t.Indexes {
		table.Indexes = append(table.Indexes, Index{
			Name: index.Name, Bytes: index.Bytes, Entries: index.Entries, BytesPerEntry: each(index.Bytes, index.Entries),
		})
	}
	return table
}

// each is bytes per row; nil where there are none.
func each(bytes, rows int64) *float64 {
	if rows == 0 {
		return nil
	}
	share := float64(bytes) / float64(rows)
	return &share
}

// bytesPerReceipt shares what grows with receipts among them.
func bytesPerReceipt(m dedupe.Measured) Factor {
	receipts := m.Table("receipts").Rows
	if receipts < Enough {
		return Factor{Published, "published: the ledger has fewer than " + number(Enough) + " receipts, too few to measure by"}
	}
	sum := int64(0)
	for _, name := range []string{"receipts", "evidence", "checkpoints"} {
		sum += m.Table(name).Bytes()
	}
	return Factor{math.Round(10*float64(sum)/float64(receipts)) / 10, "measured: receipts, evidence and checkpoints with their indexes and unused space"}
}

// observe tells the rates, and what they cost when the ledger has as many receipts as it will ever have at that rate.
func (l *Ledger) observe(m dedupe.Measured, retention func(delivery.Scope) (time.Duration, bool)) {
	l.Observed = Observed{WindowSeconds: m.Window.Seconds(), CoveredSeconds: m.Covered.Seconds(), Scopes: []ScopeCost{}}
	for _, in := range m.Inflow {
		kept, configured := retention(in.Scope)
		if !configured {
			kept = DefaultRetention
		}
		cost := ScopeCost{Scope: in.Scope, Receipts: in.Receipts, RetentionDays: Days(kept), Configured: configured}
		if span := min(m.Covered, kept); span > 0 { // what came in before may be forgotten
			cost.ReceiptsPerDay = float64(in.Recent) / Days(span)
		}
		cost.SteadyReceipts = cost.ReceiptsPerDay * cost.RetentionDays
		cost.SteadyBytes = cost.SteadyReceipts * l.BytesPerReceipt.Value
		l.Observed.add(cost)
	}
	if len(m.Inflow) > 0 && l.Observed.brief() {
		l.Notes = append(l.Notes, "the receipts reach back over "+span(m.Covered)+" only: a rate from so short a time says little")
	}
}

// brief tells that the ledger is too young to tell a rate by.
func (o *Observed) brief() bool { return o.CoveredSeconds < min(brief.Seconds(), o.WindowSeconds) }

// Rate is what came in a day, for the plan; false where nothing did.
func (o *Observed) Rate() (Factor, bool) {
	rate := Factor{math.Ceil(o.ReceiptsPerDay), "observed in the ledger"}
	if o.brief() {
		rate.From += ", over " + span(time.Duration(o.CoveredSeconds*float64(time.Second))) + " only: give --events-per-day"
	}
	return rate, rate.Value > 0
}

func (o *Observed) add(cost ScopeCost) {
	o.Scopes = append(o.Scopes, cost)
	o.ReceiptsPerDay += cost.ReceiptsPerDay
	o.SteadyReceipts += cost.SteadyReceipts
	o.SteadyBytes += cost.SteadyBytes
}

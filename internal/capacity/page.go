package capacity

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is all that the command tells.
type Report struct {
	Plan     Plan     `json:"plan"`
	Ledger   *Ledger  `json:"ledger,omitempty"` // nil: none is configured
	Excluded []string `json:"excluded"`
	Notes    []string `json:"notes"`
}

// Page writes a report for people.
func (r Report) Page(w io.Writer) error {
	var page strings.Builder
	r.Plan.page(&page)
	if r.Ledger != nil {
		r.Ledger.page(&page)
	}
	page.WriteString("\nNot included\n")
	for _, line := range r.Excluded {
		fmt.Fprintf(&page, "  %s\n", line)
	}
	notes(&page, r.Notes)
	_, err := io.WriteString(w, page.String())
	return err
}

func (p Plan) page(w io.Writer) {
	fmt.Fprintf(w, "Plan\n  %s events/day × %s days × %s bytes/receipt = %s bytes\n  = %.2f GB (%.2f GiB) for %s receipts\n\n",
		number(p.EventsPerDay.Value), number(p.Days.Value), number(p.BytesPerReceipt.Value), number(p.Bytes), p.GB, p.GiB,
		number(p.Receipts))
	columns(w, func(row func(cells ...string)) {
		row("events/day", number(p.EventsPerDay.Value), p.EventsPerDay.From)
		row("days", number(p.Days.Value), p.Days.From)
		row("bytes/receipt", number(p.BytesPerReceipt.Value), p.BytesPerReceipt.From)
	})
}

func (l *Ledger) page(w io.Writer) {
	fmt.Fprintf(w, "\nMeasured: %s, at %s\n", l.Ledger, l.At.Format("2006-01-02 15:04:05Z"))
	columns(w, func(row func(cells ...string)) {
		row("table", "rows", "bytes", "heap/row", "index/row", "unused", "dead rows")
		for _, t := range l.Tables {
			row(t.Name, about(t.Sampled)+number(float64(t.Rows)), number(float64(t.HeapBytes+t.ToastBytes+t.IndexBytes)),
				optional(t.BytesPerRow), optional(t.IndexBytesPerRow), percent(t.UnusedShare), number(float64(t.DeadRows)))
		}
	})
	fmt.Fprintln(w)
	columns(w, func(row func(cells ...string)) {
		row("index", "entries", "bytes", "bytes/entry")
		for _, t := range l.Tables {
			for _, i := range t.Indexes {
				row(i.Name, about(t.Sampled)+number(float64(i.Entries)), number(float64(i.Bytes)), optional(i.BytesPerEntry))
			}
		}
	})
	l.Observed.page(w, l.BytesPerReceipt)
	notes(w, l.Notes)
}

func (o Observed) page(w io.Writer, bytes Factor) {
	if len(o.Scopes) == 0 {
		fmt.Fprintf(w, "\nObserved: no receipts\n")
		return
	}
	fmt.Fprintf(w, "\nObserved over the last %s; in the steady state at that rate, at %s bytes/receipt\n  (%s)\n",
		span(time.Duration(o.CoveredSeconds*float64(time.Second))), number(bytes.Value), bytes.From)
	columns(w, func(row func(cells ...string)) {
		row("scope", "receipts", "receipts/day", "kept, days", "steady receipts", "steady size")
		receipts := int64(0)
		for _, s := range o.Scopes {
			kept := number(s.RetentionDays)
			if !s.Configured {
				kept += " (default: no integration has it)"
			}
			row(string(s.Scope), number(float64(s.Receipts)), number(s.ReceiptsPerDay), kept, number(s.SteadyReceipts), size(s.SteadyBytes))
			receipts += s.Receipts
		}
		row("total", number(float64(receipts)), number(o.ReceiptsPerDay), "", number(o.SteadyReceipts), size(o.SteadyBytes))
	})
}

func notes(w io.Writer, lines []string) {
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "Note: %s.\n", line)
	}
}

// columns writes rows of cells below each other.
func columns(w io.Writer, fill func(row func(cells ...string))) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fill(func(cells ...string) { fmt.Fprintf(table, "  %s\n", strings.Join(cells, "\t")) })
	_ = table.Flush() // to a builder
}

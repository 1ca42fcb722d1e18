package console

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// DeadLetter is a dead event as JSON: its receipt, and what a person needs to choose what to do first.
type DeadLetter struct {
	Receipt
	Owner        string     `json:"owner,omitempty"`
	AgeSeconds   int64      `json:"age_seconds"`             // since the first delivery
	DeadSeconds  int64      `json:"dead_seconds"`            // since it is dead
	RequestUntil *time.Time `json:"request_until,omitempty"` // when the kept request goes, as configured now
}

// About is what the configuration says of a scope's dead letters.
type About struct {
	Owner string
	Keep  time.Duration // how long their requests are kept; 0: not known
}

// NewDeadLetters translates dead receipts. About may be nil where no configuration is at hand.
func NewDeadLetters(receipts []dedupe.Receipt, about func(delivery.Scope) About, now time.Time) []DeadLetter {
	letters := make([]DeadLetter, 0, len(receipts))
	for _, r := range receipts {
		var known About
		if about != nil {
			known = about(r.Scope)
		}
		letter := DeadLetter{
			Receipt: NewReceipt(r), Owner: known.Owner, AgeSeconds: since(r.Created, now), DeadSeconds: since(r.Changed, now),
		}
		if r.HasJob && known.Keep > 0 {
			until := r.Changed.Add(known.Keep).UTC()
			letter.RequestUntil = &until
		}
		letters = append(letters, letter)
	}
	return letters
}

func since(then, now time.Time) int64 { return max(0, int64(now.Sub(then)/time.Second)) }

// DeadLetters writes dead events as a table.
func DeadLetters(w io.Writer, letters []DeadLetter) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REFERENCE\tSCOPE\tEVENT\tREASON\tATTEMPTS\tSTATUS\tAGE\tDEAD FOR\tREQUEST\tOWNER")
	for _, l := range letters {
		request := l.Request
		if l.RequestSeal != nil {
			request += ", " + l.RequestSeal.short()
		}
		if l.RequestUntil != nil {
			request += " until " + stamp(*l.RequestUntil)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", l.Reference, l.Scope, shorten(printable(l.EventID)),
			dash(l.Reason), l.Attempts, statusText(l.Status), span(l.AgeSeconds), span(l.DeadSeconds), request, dash(printable(l.Owner)))
	}
	return table.Flush()
}

// span is a number of seconds for people: its two largest units.
func span(seconds int64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%ds", seconds/60, seconds%60)
	case seconds < 24*3600:
		return fmt.Sprintf("%dh%dm", seconds/3600, seconds%3600/60)
	default:
		return fmt.Sprintf("%dd%dh", seconds/(24*3600), seconds%(24*3600)/3600)
	}
}

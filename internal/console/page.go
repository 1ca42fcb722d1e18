package console

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// pageWriter writes lines until one fails.
type pageWriter struct {
	w   io.Writer
	err error
}

func (p *pageWriter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *pageWriter) row(name, format string, args ...any) {
	p.line("  %-12s "+format, append([]any{name}, args...)...)
}

// stamp is a time for people, always UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// printable keeps what came from outside from moving the cursor: anything but visible ASCII is escaped. What is all visible,
// as every event ID is, stays as it is, so that it can be given to the next command.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

// List writes receipts as a table.
func List(w io.Writer, receipts []dedupe.Receipt) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REFERENCE\tSCOPE\tEVENT\tSTATE\tREASON\tATTEMPTS\tSTATUS\tCHANGED")
	for _, r := range receipts {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.Reference, r.Scope, shorten(printable(string(r.EventID))),
			r.State, dash(string(r.Reason)), r.Attempts, statusText(r.Status), stamp(r.Changed))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return sealedRows(w, receipts)
}

// sealedRows tells which keys are missing for what is listed.
func sealedRows(w io.Writer, receipts []dedupe.Receipt) error {
	counts := map[string]int{}
	for _, r := range receipts {
		for _, why := range []*dedupe.SealedError{r.Sealed, r.JobSealed} {
			if why != nil {
				counts[why.Cause()]++
			}
		}
	}
	page := &pageWriter{w: w}
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		page.line("%d of them: %s", counts[cause], cause)
	}
	return page.err
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func statusText(status int) string {
	if status == 0 {
		return "-"
	}
	return strconv.Itoa(status)
}

// shorten keeps a table readable; show and --json have the whole ID.
func shorten(text string) string {
	const most = 48
	if len(text) <= most {
		return text
	}
	return strings.TrimRight(text[:most-3], `\`) + "..."
}

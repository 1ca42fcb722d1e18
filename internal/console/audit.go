package console

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
)

// mostFindings bounds what an AuditReport keeps; the others are counted.
const mostFindings = 1000

// AuditReport is what an audit found, as JSON.
type AuditReport struct {
	OK       bool           `json:"ok"`
	Findings []AuditFinding `json:"findings"`
	More     int64          `json:"more_findings,omitempty"`
	Scopes   []AuditScope   `json:"scopes"`
}

// AuditFinding is one thing that is wrong. What is not known of it is left out.
type AuditFinding struct {
	Kind       string `json:"kind"`
	Scope      string `json:"scope,omitempty"` // none: the ledger as a whole
	EventID    string `json:"event_id,omitempty"`
	Reference  string `json:"reference,omitempty"`
	Checkpoint int64  `json:"checkpoint,omitempty"`
	Detail     string `json:"detail"`
}

// AuditScope is what an audit saw in a scope.
type AuditScope struct {
	Scope       string `json:"scope"`
	Receipts    int64  `json:"receipts"`
	Events      int64  `json:"events"` // with evidence
	Rows        int64  `json:"rows"`
	Sealed      int64  `json:"sealed"`
	Unsealed    int64  `json:"not_yet_sealed"`
	Unchained   int64  `json:"unchained"` // of an older version
	Forgotten   int64  `json:"forgotten"` // in time, and still known to checkpoints
	Checkpoints int64  `json:"checkpoints"`
	BeginsAt    int64  `json:"begins_at"`
	EndsAt      int64  `json:"ends_at"`
	Anchored    int64  `json:"anchored"`
	Unanchored  int64  `json:"unanchored"` // checkpoints between the anchors that no anchor is of
	Retired     int64  `json:"retired_anchors"`
	Findings    int64  `json:"findings"`
}

// Add takes in a finding.
func (r *AuditReport) Add(f audit.Finding) {
	if len(r.Findings) == mostFindings {
		r.More++
		return
	}
	r.Findings = append(r.Findings, AuditFinding{
		Kind: string(f.Kind), Scope: string(f.Scope), EventID: string(f.EventID), Reference: f.Reference,
		Checkpoint: f.Checkpoint, Detail: f.Detail,
	})
}

// Conclude completes the report.
func (r *AuditReport) Conclude(scopes []audit.Summary) {
	r.OK = len(r.Findings) == 0
	r.Scopes = make([]AuditScope, len(scopes))
	if r.Findings == nil {
		r.Findings = []AuditFinding{}
	}
	for i, s := range scopes {
		r.Scopes[i] = AuditScope{
			Scope: string(s.Scope), Receipts: s.Receipts, Events: s.Events, Rows: s.Rows, Sealed: s.Sealed, Unsealed: s.Unsealed,
			Unchained: s.Unchained, Forgotten: s.Forgotten, Checkpoints: s.Checkpoints, BeginsAt: s.BeginsAt, EndsAt: s.EndsAt,
			Anchored: s.Anchored, Unanchored: s.Unanchored, Retired: s.Retired, Findings: s.Findings,
		}
	}
}

// Page writes the report for people.
func (r *AuditReport) Page(w io.Writer) error {
	page := &pageWriter{w: w}
	for _, f := range r.Findings {
		page.line("%s  %s", f.Kind, f.place())
		page.line("    %s", f.Detail)
	}
	if r.More > 0 {
		page.line("and %d more", r.More)
	}
	if page.err != nil {
		return page.err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCOPE\tRECEIPTS\tEVENTS\tROWS\tSEALED\tNOT YET\tUNCHAINED\tCHECKPOINTS\tBEGINS AT\tANCHORED\tRETIRED\tFINDINGS")
	for _, s := range r.Scopes {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", s.Scope, s.Receipts, s.Events, s.Rows, s.Sealed, s.Unsealed,
			s.Unchained, s.Checkpoints, s.BeginsAt, s.Anchored, s.Retired, s.Findings)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range r.Scopes {
		if s.Unanchored > 0 {
			page.line("%s: %d checkpoints between the anchors have none: was the log kept whole?", s.Scope, s.Unanchored)
		}
	}
	return page.err
}

func (f *AuditFinding) place() string {
	text := f.Scope
	if text == "" {
		text = "the ledger"
	}
	if f.EventID != "" {
		text += "  event " + printable(f.EventID)
	}
	if f.Reference != "" {
		text += "  reference " + f.Reference
	}
	if f.Checkpoint > 0 {
		text += fmt.Sprintf("  checkpoint %d", f.Checkpoint)
	}
	return text
}

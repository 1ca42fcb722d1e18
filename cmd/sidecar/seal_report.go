package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
)

// toldActs is how many rotations before this one are told.
const toldActs = 10

// rotationReport is a report as JSON.
type rotationReport struct {
	Sealing   string        `json:"sealing"` // ID of the first key, or off
	DryRun    bool          `json:"dry_run"`
	Requests  rotationTally `json:"requests"`
	Results   rotationTally `json:"results"`
	Rotations []rotationAct `json:"rotations"` // the last ones, oldest first
}

type rotationTally struct {
	Found     map[string]int `json:"found"` // by key ID, or unsealed
	Due       int            `json:"due"`
	Rewritten int            `json:"rewritten"`
	Changed   int            `json:"changed_meanwhile"`
	Held      int            `json:"held"`
	Unopened  map[string]int `json:"unopened"` // by key ID, or unnamed
}

type rotationAct struct {
	At      time.Time `json:"at"`
	Sealing string    `json:"sealing"`
	Actor   string    `json:"actor"`
	Reason  string    `json:"reason"`
}

func newRotationReport(keys *seal.Keys, report seal.Report, how rotating) *rotationReport {
	return &rotationReport{
		Sealing: sealingKey(keys), DryRun: how.dryRun, Rotations: []rotationAct{},
		Requests: newRotationTally(report.Requests), Results: newRotationTally(report.Results),
	}
}

// tellActs adds who has rotated lately, this time included.
func (r *rotationReport) tellActs(ctx context.Context, ledger *store) error {
	acts, err := ledger.Rotations(ctx)
	for _, act := range acts[max(0, len(acts)-toldActs):] {
		r.Rotations = append(r.Rotations, rotationAct{act.At.UTC(), act.Sealing, act.Actor, act.Reason})
	}
	return err
}

func newRotationTally(t seal.Tally) rotationTally {
	return rotationTally{
		Found: byName(t.Found, "unsealed"), Due: t.Due, Rewritten: t.Rewritten, Changed: t.Changed, Held: t.Held,
		Unopened: byName(t.Unopened, "unnamed"),
	}
}

func byName(counts map[dedupe.KeyID]int, none string) map[string]int {
	named := map[string]int{}
	for id, count := range counts {
		name := id.String()
		if id == (dedupe.KeyID{}) {
			name = none
		}
		named[name] = count
	}
	return named
}

// unopened is how many of one kind no key at hand opens.
func (t *rotationTally) unopened() int {
	count := 0
	for _, of := range t.Unopened {
		count += of
	}
	return count
}

func (p *program) showRotation(shown *rotationReport, asJSON bool) error {
	if asJSON {
		return p.json(shown)
	}
	fmt.Fprintf(p.out, "The first key is %s.\n\n", shown.Sealing)
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEPT\tSEALED WITH\tFOUND\tCANNOT BE OPENED")
	tallyRows(table, "requests", shown.Requests)
	tallyRows(table, "results", shown.Results)
	if err := table.Flush(); err != nil {
		return err
	}
	q, r := &shown.Requests, &shown.Results
	fmt.Fprintf(p.out, "\n%d to be rewritten, %d rewritten, %d changed meanwhile, %d held by somebody, %d cannot be opened.\n",
		q.Due+r.Due, q.Rewritten+r.Rewritten, q.Changed+r.Changed, q.Held+r.Held, q.unopened()+r.unopened())
	for _, act := range shown.Rotations {
		fmt.Fprintf(p.out, "Rotated %s to %s by %q: %q\n", act.At.Format(time.RFC3339), act.Sealing, act.Actor, act.Reason)
	}
	return nil
}

func tallyRows(table *tabwriter.Writer, kind string, t rotationTally) {
	for _, name := range slices.Sorted(maps.Keys(t.Found)) {
		closed := t.Unopened[name]
		if name == "unsealed" {
			closed = t.Unopened["unnamed"]
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", kind, name, t.Found[name], closed)
	}
}

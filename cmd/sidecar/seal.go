package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
)

func (p *program) seal(ctx context.Context, args []string) error {
	word, rest, err := oneOf("seal", args, "status", "rotate")
	if err != nil {
		return err
	}
	if word == "status" {
		return p.sealStatus(ctx, rest)
	}
	return p.sealRotate(ctx, rest)
}

// sealStatus counts what is kept by the key that sealed it, and changes nothing.
func (p *program) sealStatus(ctx context.Context, args []string) error {
	flags := p.newFlags("seal status [--json]")
	asJSON := flags.Bool("json", false, "as JSON")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	return p.rotate(ctx, rotating{dryRun: true, asJSON: *asJSON})
}

func (p *program) sealRotate(ctx context.Context, args []string) error {
	flags := p.newFlags("seal rotate --actor WHO --reason WHY [--dry-run] [--json]")
	by := flags.actor()
	dryRun := flags.Bool("dry-run", false, "count only")
	asJSON := flags.Bool("json", false, "as JSON")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	if err := checkActor(by); err != nil && !*dryRun {
		return err
	}
	return p.rotate(ctx, rotating{by: *by, dryRun: *dryRun, asJSON: *asJSON})
}

// rotating says how a rotation was asked for.
type rotating struct {
	by             dedupe.Act
	dryRun, asJSON bool
}

// rotate brings everything that is kept under the first key. It fails where something could not be opened, or was held.
func (p *program) rotate(ctx context.Context, how rotating) error {
	settings, err := p.settings()
	if err != nil {
		return err
	}
	ring, err := p.sealRing(settings)
	if err != nil {
		return err
	}
	if ring.Keys() == nil && !how.dryRun {
		return config.Problems{{Key: sealKeyVariable, Text: "is not set: there is no key to rotate to; the word off as the first line unseals"}}
	}
	opened, err := openExisting(ctx, settings)
	if err != nil {
		return err
	}
	defer opened.close()
	rotation := seal.Rotation{
		Vault: opened.vault, Namespace: settings.Namespace, Keys: ring.Keys(), DryRun: how.dryRun, Progress: p.progress(),
	}
	p.noteRotation(settings, how, "begins")
	report, err := rotation.Run(ctx)
	if shown := p.showRotation(ring.Keys(), report, how); err == nil {
		err = shown
	}
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	p.noteRotation(settings, how, "is done")
	if report.Left() > 0 {
		return errFailed
	}
	return nil
}

// progressEvery is how often a person who waits is told how far it is.
const progressEvery = 10 * time.Second

// progress tells on standard error how far a long rotation has come.
func (p *program) progress() func(seal.Report) {
	told := time.Now()
	return func(r seal.Report) {
		if time.Since(told) < progressEvery {
			return
		}
		told = time.Now()
		fmt.Fprintf(p.err, "%d requests and %d results looked at, %d rewritten\n", r.Requests.Count(), r.Results.Count(),
			r.Requests.Rewritten+r.Results.Rewritten)
	}
}

// noteRotation leaves in the log who did it and why.
func (p *program) noteRotation(settings config.Settings, how rotating, what string) {
	if how.dryRun {
		return
	}
	newLog(settings, p.err, replicaName()).Info("seal rotation", "is", what, "namespace", settings.Namespace,
		"actor", how.by.Actor, "reason", how.by.Reason)
}

// rotationReport is a report as JSON.
type rotationReport struct {
	Sealing  string        `json:"sealing"` // ID of the first key, or off
	DryRun   bool          `json:"dry_run"`
	Actor    string        `json:"actor,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Requests rotationTally `json:"requests"`
	Results  rotationTally `json:"results"`
}

type rotationTally struct {
	Found     map[string]int `json:"found"` // by key ID, or unsealed
	Due       int            `json:"due"`
	Rewritten int            `json:"rewritten"`
	Changed   int            `json:"changed_meanwhile"`
	Held      int            `json:"held"`
	Unopened  map[string]int `json:"unopened"` // by key ID, or unnamed
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

func (p *program) showRotation(keys *seal.Keys, report seal.Report, how rotating) error {
	shown := rotationReport{
		Sealing: sealingKey(keys), DryRun: how.dryRun, Actor: how.by.Actor, Reason: how.by.Reason,
		Requests: newRotationTally(report.Requests), Results: newRotationTally(report.Results),
	}
	if how.asJSON {
		return p.json(shown)
	}
	fmt.Fprintf(p.out, "The first key is %s.\n\n", shown.Sealing)
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEPT\tSEALED WITH\tFOUND\tCANNOT BE OPENED")
	p.tallyRows(table, "requests", shown.Requests)
	p.tallyRows(table, "results", shown.Results)
	if err := table.Flush(); err != nil {
		return err
	}
	due, done := shown.Requests.Due+shown.Results.Due, shown.Requests.Rewritten+shown.Results.Rewritten
	fmt.Fprintf(p.out, "\n%d to be rewritten, %d rewritten, %d changed meanwhile, %d held by somebody, %d cannot be opened.\n",
		due, done, shown.Requests.Changed+shown.Results.Changed, report.Requests.Held+report.Results.Held,
		report.Left()-report.Requests.Held-report.Results.Held)
	return nil
}

func (p *program) tallyRows(table *tabwriter.Writer, kind string, t rotationTally) {
	for _, name := range slices.Sorted(maps.Keys(t.Found)) {
		closed := t.Unopened[name]
		if name == "unsealed" {
			closed = t.Unopened["unnamed"]
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", kind, name, t.Found[name], closed)
	}
}

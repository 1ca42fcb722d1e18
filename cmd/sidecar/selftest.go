package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// defaultReviewAge is how old a reading of the sender's documentation may be where nobody says otherwise.
const defaultReviewAge = "366d"

// selftestReport is what came of a self-test. Nothing in it is secret.
type selftestReport struct {
	Scope        string         `json:"scope"`
	Provider     string         `json:"provider"`
	PresetRead   string         `json:"preset_reviewed,omitempty"` // when the preset's sources were read
	DocsReviewed string         `json:"docs_reviewed,omitempty"`   // when somebody here read them
	Passed       bool           `json:"passed"`
	Deliveries   []selftestStep `json:"deliveries"`
	Warnings     []string       `json:"warnings,omitempty"`
}

// selftestStep is one synthetic delivery.
type selftestStep struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"` // passed, failed, n/a
	Got     string `json:"got,omitempty"`
	Want    string `json:"want,omitempty"`
	Note    string `json:"note,omitempty"`
}

// selftest judges synthetic deliveries by the configuration, in a ledger of their own and without the application.
func (p *program) selftest(ctx context.Context, args []string) error {
	flags := p.newFlags("selftest SCOPE [--body FILE] [--reviewed-within AGE] [--json]")
	file := flags.String("body", "", "`FILE` with a body as the sender makes it, where a made-up one will not do")
	within := flags.String("reviewed-within", defaultReviewAge, "warn when docs_reviewed is older than `AGE`, such as 90d")
	asJSON := flags.Bool("json", false, "as JSON")
	named, err := flags.parse(args, 1, 1)
	if err != nil {
		return err
	}
	age, err := config.ParseDuration(*within)
	if err != nil {
		return usagef("--reviewed-within: %v", err)
	}
	_, i, verifier, err := p.integration(named[0])
	if err != nil {
		return err
	}
	var body []byte
	if *file != "" {
		if body, err = p.readInput(*file); err != nil {
			return err
		}
	}
	report, err := p.runSelftest(ctx, i, verifier, body)
	if err != nil {
		return fmt.Errorf("selftest: %w", err)
	}
	report.review(i, age, time.Now())
	if *asJSON {
		err = p.json(report)
	} else {
		report.print(p.out)
	}
	if err == nil && !report.Passed {
		return errFailed
	}
	return err
}

func (p *program) runSelftest(ctx context.Context, i *config.Integration, verifier *verify.Verifier, body []byte) (*selftestReport, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	bench, err := newSelftestBench(ctx, i, verifier)
	if err != nil {
		return nil, err
	}
	defer bench.close()
	if body != nil {
		bench.body, bench.genuine = body, true
	}
	report := &selftestReport{Scope: string(i.Scope), Provider: i.Provider, Passed: true}
	for _, step := range bench.steps(ctx) {
		report.Passed = report.Passed && step.Verdict != "failed"
		report.Deliveries = append(report.Deliveries, step)
	}
	return report, nil
}

// review tells how old what is known of the sender is.
func (r *selftestReport) review(i *config.Integration, within time.Duration, now time.Time) {
	preset, _ := verify.LookupPreset(i.Provider)
	r.PresetRead = preset.Reviewed
	if i.DocsReviewed.IsZero() {
		r.Warnings = append(r.Warnings, "docs_reviewed is not set: nobody says when the sender's documentation was read")
		return
	}
	r.DocsReviewed = i.DocsReviewed.Format(time.DateOnly)
	if age := now.Sub(i.DocsReviewed); age > within {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the sender's documentation was last read on %s, %d days ago: read it again, "+
			"compare it with the preset, and set docs_reviewed", r.DocsReviewed, int(age.Hours()/24)))
	}
}

func (r *selftestReport) print(w io.Writer) {
	fmt.Fprintf(w, "Self-test of %s (%s), in a ledger of its own and without the application\n\n", r.Scope, r.Provider)
	for _, step := range r.Deliveries {
		fmt.Fprintf(w, "  %-6s  %-24s %s\n", step.Verdict, step.Name, step.text())
	}
	fmt.Fprintf(w, "\n  preset's sources read on  %s\n  docs_reviewed             %s\n", orNone(r.PresetRead), orNone(r.DocsReviewed))
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
	fmt.Fprintf(w, "\n%s\n", either(r.Passed, "Passed.", "FAILED: pause the integration until this is understood."))
}

func (s selftestStep) text() string {
	switch {
	case s.Verdict == "failed":
		return fmt.Sprintf("%s, must be %s %s", s.Got, s.Want, s.Note)
	case s.Note != "":
		return s.Note
	}
	return s.Got
}

// sampleDelivery is a delivery that nobody has signed yet.
func sampleDelivery(i *config.Integration, header map[string][]string, body []byte) *delivery.Delivery {
	return &delivery.Delivery{Method: i.Methods[0], Target: i.Route, Header: header, Body: body, Received: time.Now()}
}

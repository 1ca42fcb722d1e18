package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/drill"
)

// Bounds of a drill.
const (
	drillLimit    = 10 * time.Minute // ends one that hangs, so that it always tells its table
	drillReplicas = 3                // where the ledger can be shared
	drillInterval = 2 * time.Second  // the default of SIDECAR_RELOAD_INTERVAL, which is what is declared
)

// drill is the leaked-key drill, against real sidecars on a ledger of its own.
func (p *program) drill(ctx context.Context, args []string) error {
	flags := p.newFlags("drill [--json] [--report FILE] [--replicas N] [--verbose]")
	asJSON := flags.Bool("json", false, "print the report as JSON")
	file := flags.String("report", "", "write the whole report to `FILE`: as JSON where its name ends in .json, else as text")
	replicas := flags.Int("replicas", drillReplicas, "sidecars on one ledger; an embedded ledger has one")
	verbose := flags.Bool("verbose", false, "tell everything that was looked at, not only what is wrong")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	if *replicas < 1 || *replicas > 9 {
		return usagef("sidecar drill: --replicas is not from 1 to 9")
	}
	report, err := p.runDrill(ctx, *replicas)
	if err != nil {
		return fmt.Errorf("drill: %w", err)
	}
	if *asJSON {
		err = report.JSON(p.out)
	} else {
		err = report.Text(p.out, *verbose)
	}
	if err == nil && *file != "" {
		err = writeReport(*file, report)
	}
	if err == nil && !report.Passed {
		return errFailed
	}
	return err
}

func (p *program) runDrill(ctx context.Context, replicas int) (drill.Report, error) {
	dir, err := os.MkdirTemp("", "sidecar-drill-")
	if err != nil {
		return drill.Report{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(ctx, drillLimit)
	defer cancel()
	d, err := drill.New(drill.Config{Dir: dir, Bound: cmp.Or(p.drillBound, drillInterval), Version: thisBuild().Version})
	if err != nil {
		return drill.Report{}, err
	}
	defer d.Close()
	field := p.newDrillField(dir, d.Application(), replicas)
	defer field.close()
	if err := field.start(ctx); err != nil {
		return drill.Report{}, err
	}
	return d.Run(ctx, field, func(step drill.Step) {
		fmt.Fprintf(p.err, "%-6s  %s\n", step.Verdict, step.Title)
	}), nil
}

func writeReport(file string, report drill.Report) error {
	var text bytes.Buffer
	err := report.Text(&text, true)
	if strings.HasSuffix(file, ".json") {
		text.Reset()
		err = report.JSON(&text)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o600)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/capacity"
)

func (p *program) capacity(ctx context.Context, args []string) error {
	asked, err := p.planned(args)
	if err != nil {
		return err
	}
	settings, err := p.capacitySettings()
	if err != nil {
		return err
	}
	kept := p.kept(settings)
	report := capacity.Report{Excluded: capacity.Excluded(), Notes: kept.notes}
	if report.Ledger, err = p.measure(ctx, settings, asked.window, kept.retention); err != nil {
		return err
	}
	report.Plan = asked.plan(report.Ledger, kept)
	if asked.json {
		return p.json(report)
	}
	return report.Page(p.out)
}

// capacitySettings are the process's; a ledger need not be configured.
func (p *program) capacitySettings() (config.Settings, error) {
	settings, err := p.settings()
	var problems config.Problems
	if p.environ["DATABASE_URL"] != "" || !errors.As(err, &problems) {
		return settings, err
	}
	var others config.Problems
	for _, problem := range problems {
		if problem.Key != "DATABASE_URL" {
			others = append(others, problem)
		}
	}
	return settings, allProblems(others)
}

// measure looks at the ledger; nil where none is configured. One that is configured and cannot be measured is an error.
func (p *program) measure(ctx context.Context, settings config.Settings, window time.Duration,
	retention func(delivery.Scope) (time.Duration, bool),
) (*capacity.Ledger, error) {
	if path := settings.Database.SQLite; path == "" && settings.Database.PostgresURL == "" {
		return nil, nil
	} else if _, err := os.Stat(path); path != "" && errors.Is(err, fs.ErrNotExist) {
		if settings.Database.Default {
			return nil, nil
		}
		return nil, fmt.Errorf("there is no ledger at %s", path)
	}
	settings.Migrate = "off" // whoever only looks changes nothing
	opened, err := openStore(ctx, settings, 0, nil)
	if errors.Is(err, sqlite.ErrHeld) {
		return nil, fmt.Errorf("%w: stop the sidecar first", err)
	}
	if err != nil {
		return nil, err
	}
	defer opened.close()
	meter, measures := opened.Backend.(dedupe.Meter)
	if !measures {
		return nil, errors.New("this ledger cannot be measured")
	}
	measured, err := meter.Measure(ctx, window)
	if err != nil {
		return nil, fmt.Errorf("the ledger cannot be measured (%s): %w", describeLedger(settings), err)
	}
	ledger := capacity.NewLedger(describeLedger(settings), measured, retention)
	return &ledger, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/capacity"
)

// Bounds of what is planned: beyond them somebody has mistaken the unit.
const (
	mostEventsPerDay = 1e12
	mostDays         = 36_500
	mostBytes        = 1 << 30
	leastWindow      = time.Minute
	mostWindow       = 366 * 24 * time.Hour
)

// planned is what the flags say; 0: nothing.
type planned struct {
	eventsPerDay, days, bytesPerReceipt float64
	window                              time.Duration
	json                                bool
}

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

func (p *program) planned(args []string) (planned, error) {
	asked := planned{window: 24 * time.Hour}
	flags := p.newFlags("capacity [--events-per-day N] [--days N] [--bytes-per-receipt N] [--window DURATION] [--json]")
	number := func(name, usage string, least, most float64, into *float64) {
		flags.Func(name, usage, func(text string) error { return parseFactor(text, least, most, into) })
	}
	number("events-per-day", "`events` a day (default: as observed in the ledger, else an example)", math.SmallestNonzeroFloat64, mostEventsPerDay, &asked.eventsPerDay)
	number("days", "`days` that a receipt is kept (default: the longest configured retention)", math.SmallestNonzeroFloat64, mostDays, &asked.days)
	number("bytes-per-receipt", "`bytes` of a receipt with its index entries (default: as measured in the ledger, else as published)", 1, mostBytes, &asked.bytesPerReceipt)
	flags.Func("window", "`time` over which the rate is observed (default 24h)", func(text string) error {
		window, err := time.ParseDuration(text)
		if err == nil && (window < leastWindow || window > mostWindow) {
			err = fmt.Errorf("want %s to %s", leastWindow, mostWindow)
		}
		asked.window = window
		return err
	})
	flags.BoolVar(&asked.json, "json", false, "as JSON")
	_, err := flags.parse(args, 0, 0)
	return asked, err
}

// parseFactor reads a number above 0 within bounds.
func parseFactor(text string, least, most float64, into *float64) error {
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(value):
		return errors.New("want a number")
	case value <= 0:
		return errors.New("want more than 0")
	case value > most:
		return fmt.Errorf("want at most %.0f", most)
	case value < least:
		return fmt.Errorf("want at least %.0f", least)
	}
	*into = value
	return nil
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

// kept is what the integrations file says of retention.
type kept struct {
	scopes map[delivery.Scope]time.Duration
	notes  []string
}

func (p *program) kept(settings config.Settings) kept {
	k := kept{scopes: map[delivery.Scope]time.Duration{}, notes: []string{}}
	set, err := p.integrations(settings)
	switch {
	case err == nil:
		for scope, policy := range set.Policies() {
			k.scopes[scope] = policy.Retention.Receipt
		}
	case p.environ["SIDECAR_CONFIG"] != "":
		k.notes = append(k.notes, "the integrations file cannot be used (sidecar check tells why), so that the default retention is taken")
	}
	return k
}

func (k kept) retention(scope delivery.Scope) (time.Duration, bool) {
	kept, known := k.scopes[scope]
	return kept, known
}

// longest is the plan's days.
func (k kept) longest() capacity.Factor {
	factor := capacity.Factor{
		Value: capacity.Days(capacity.DefaultRetention),
		From:  "default: sender_window 72h + repair_window 96h + clock_skew 5m",
	}
	var longest time.Duration
	for scope, retention := range k.scopes {
		if retention > longest {
			longest = retention
			factor = capacity.Factor{Value: capacity.Days(retention), From: "the longest configured retention, of " + string(scope)}
		}
	}
	return factor
}

// plan takes each factor from its flag, else from the ledger or the configuration, else from what is published.
func (a planned) plan(ledger *capacity.Ledger, k kept) capacity.Plan {
	events := capacity.Factor{Value: capacity.Example, From: "an example: give --events-per-day"}
	bytes := capacity.Factor{Value: capacity.Published, From: "published: an applied receipt with its index entries"}
	if ledger != nil {
		bytes = ledger.BytesPerReceipt
		if rate := ledger.Observed.ReceiptsPerDay; rate > 0 {
			events = capacity.Factor{Value: math.Ceil(rate), From: "observed in the ledger"}
		}
	}
	return capacity.NewPlan(
		flagged("events-per-day", a.eventsPerDay, events), flagged("days", a.days, k.longest()),
		flagged("bytes-per-receipt", a.bytesPerReceipt, bytes))
}

func flagged(name string, value float64, otherwise capacity.Factor) capacity.Factor {
	if value == 0 {
		return otherwise
	}
	return capacity.Factor{Value: value, From: "--" + name}
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

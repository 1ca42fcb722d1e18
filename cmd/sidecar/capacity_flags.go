package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

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

// plan takes each factor from its flag, else from the ledger or the configuration, else from what is published.
func (a planned) plan(ledger *capacity.Ledger, k kept) capacity.Plan {
	events := capacity.Factor{Value: capacity.Example, From: "an example: give --events-per-day"}
	bytes := capacity.Factor{Value: capacity.Published, From: "published: an applied receipt with its index entries"}
	if ledger != nil {
		bytes = ledger.BytesPerReceipt
		if rate, some := ledger.Observed.Rate(); some {
			events = rate
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

package main

import (
	"strings"
	"testing"
)

func measured(rates ...float64) []sample {
	var all []sample
	for round, rate := range rates {
		all = append(all, sample{round: round, connections: 256, outcome: outcome{PerSecond: rate}})
	}
	return all
}

// A round that the machine disturbed counts as one: ratios are of the same round, and their median is told.
func TestRatioIsWithinARound(t *testing.T) {
	r := &results{plan: plan{connections: numbers{256}}, samples: map[string][]sample{
		"plain": measured(100, 10, 100), "new": measured(120, 12, 90),
	}}
	ratio, found := r.ratio("new", "plain", 256, rate, rate)
	if !found || ratio < 1.199 || ratio > 1.201 {
		t.Errorf("the ratio is %v, %t", ratio, found)
	}
	if _, found := r.ratio("new", "nginx", 256, rate, rate); found {
		t.Error("a ratio to what was not measured")
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		found, limit float64
		atMost       bool
		want         string
	}{
		{1, 1, true, "reached"}, {1, 1, false, "reached"}, {0.9, 1, true, "reached"}, {1.1, 1, false, "reached"},
		{1.04, 1, true, "missed by less than 5 %"}, {1.5, 1, true, "missed by 50 %"}, {2, 2.5, false, "missed by 20 %"},
	} {
		if got := verdict(c.found, c.limit, c.atMost); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.found, c.limit, got, c.want)
		}
	}
}

// What was not measured is not judged.
func TestNothingMeasured(t *testing.T) {
	r := &results{plan: plan{connections: numbers{1, 256}}}
	for _, target := range r.targets() {
		if target.verdict != "–" {
			t.Errorf("%s: %s", target.aim, target.verdict)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	table(&b, [][]string{{"a", "µs"}, {"longer", "1"}})
	if want := "| a      | µs |\n| ------ | -- |\n| longer | 1  |\n"; b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

package main

import (
	"strings"
	"testing"
)

// What is told of a size is in relation to the first one, as a whole and by receipts: room that is used again shows as a size
// that grows no more than the receipts do.
func TestSizesInRelation(t *testing.T) {
	before := volume{receipts: 2 << 20, heap: 200, index: 100}
	for _, c := range []struct {
		v    volume
		want string
	}{
		{before, "2097152; 400; 200; 300; 1.00 times the size, 1.00 times the receipts"},
		{volume{receipts: 1 << 20, heap: 400, index: 200}, "1048576; 400; 200; 600; 1.00 times the size, 0.50 times the receipts"},
		{volume{receipts: 2 << 20, heap: 250, index: 125}, "2097152; 500; 250; 375; 1.25 times the size, 1.00 times the receipts"},
	} {
		if got := strings.Join(c.v.row(before)[1:], "; "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A window in which the sweeper ran out of work has no partner, and does not shift the others.
func TestRetentionIsWithinARound(t *testing.T) {
	of := func(latencies ...float64) (list []sample) {
		for round, p99 := range latencies {
			list = append(list, sample{round: round, connections: 16, outcome: outcome{P99: p99}})
		}
		return list
	}
	r := &retentionResults{results: &results{samples: map[string][]sample{"quiet": of(100, 1000, 100, 1), "swept": of(120, 1200, 150)}}}
	if row := r.pair(16); row[1] != "3" || row[4] != "100 → 150 (1.20)" {
		t.Errorf("%q", row)
	}
}

func TestRetentionRemarks(t *testing.T) {
	r := &retentionResults{results: &results{plan: plan{connections: numbers{16}}}, forgotten: []float64{900, 1000, 5000}, whole: 12}
	var text strings.Builder
	r.remarks(&text)
	if !strings.Contains(text.String(), "1000 receipts a second (median). The last 12 took 0 s, at 16 connections") {
		t.Error(text.String())
	}
}

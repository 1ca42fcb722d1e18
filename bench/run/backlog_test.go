package main

import (
	"strings"
	"testing"
	"time"
)

// A ratio of waits that is too large is told as missed, also where the short queue's own rounds lie as far apart.
func TestVerdictsOfWaits(t *testing.T) {
	short := []float64{20, 31, 22}
	for _, c := range []struct {
		ratio, found float64
		want         string
	}{
		{1.25, 25, "reached"}, {0.8, 16, "reached"},
		{1.4, 31, "missed by 12 %, within the short queue's own 20.0 to 31.0 ms"},
		{2.5, 50, "missed by 100 %"},
	} {
		if got := judgeWait(c.ratio, c.found, short); got != c.want {
			t.Errorf("%v, %v ms: %q, want %q", c.ratio, c.found, got, c.want)
		}
	}
}

// contested is a run whose million waits four times as long in one round of three, and twice as long in the others.
func contested() *backlogResults {
	short, million := &situation{name: "short"}, &situation{name: "million"}
	r := &backlogResults{results: &results{plan: plan{backlog: 1000}, samples: map[string][]sample{}}, lasted: time.Minute}
	for round, wait := range []float64{20, 200, 20} {
		w := func(of float64) waits { return waits{count: 9, p50: of, p99: 10 * of, most: 10 * of} }
		r.samples["short steady"] = append(r.samples["short steady"], sample{round: round, connections: 32, proxy: 100, ledger: 50, waits: w(10)})
		r.samples["million steady"] = append(r.samples["million steady"], sample{round: round, connections: 32, proxy: 110, ledger: 55, waits: w(wait)})
		r.samples["short burst"] = append(r.samples["short burst"], sample{round: round, connections: 64, proxy: 10, ledger: 5})
		r.samples["million burst"] = append(r.samples["million burst"], sample{round: round, connections: 64, proxy: 20, ledger: 10})
	}
	r.contests = []contest{
		{"steady", "in front", million, short, nil},
		{"burst", "from it", million, short, nil},
	}
	return r
}

// Waits and CPU are judged each for itself, and a wait beyond the promise is told whatever its ratio is.
func TestRowsOfABacklog(t *testing.T) {
	r := contested()
	rows := r.steadyRows()
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	if got := strings.Join(rows[1][1:3], "; "); got != "10.0 → 20.0 (2.00); 100.0 → 200.0 (2.00)" {
		t.Errorf("waits: %s", got)
	}
	if got := strings.Join(rows[1][6:], "; "); got != "150 → 165 (1.10); missed by 60 %; reached" {
		t.Errorf("verdicts: %s", got)
	}
	r.samples["million steady"][0].waits.p99 = 2000
	if got := r.steadyRows()[1][7]; got != "missed by 1500 %; more than 250 ms" {
		t.Errorf("beyond the promise: %s", got)
	}
	if rows := r.burstRows(); len(rows) != 2 || rows[1][4] != "15 → 30 (2.00)" || rows[1][5] != "missed by 60 %" {
		t.Errorf("at full speed: %q", rows)
	}
}

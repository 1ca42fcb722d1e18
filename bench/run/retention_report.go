package main

import (
	"fmt"
	"strings"
	"time"
)

// retentionResults is what was found.
type retentionResults struct {
	*results
	sizes     []volume
	forgotten []float64 // a second, by window
	took      time.Duration
	whole     int64 // receipts forgotten under load until nothing was left
}

// round measures both ledgers in turn, as long as there is something to forget.
func (r *retentionResults) round(round int, quiet, swept *shelf) {
	for _, connections := range r.plan.connections {
		pair := []func(){
			func() { r.keep(quiet, quiet.fresh(connections, round)) },
			func() { r.sweep(swept, connections, round) },
		}
		left := swept.expired()
		if left < int64(r.plan.expired)/20 {
			swept.say("round %d: only %d receipts are left to forget\n", round+1, left)
			return
		}
		pair[round%2]()
		pair[1-round%2]()
	}
}

func (r *retentionResults) keep(x *shelf, m sample) {
	r.samples[x.name] = append(r.samples[x.name], m)
	x.say("%s round %d  %s\n", time.Now().UTC().Format("15:04:05"), m.round+1, m.line(x.name))
}

// sweep measures with the sweeper at work, and holds it again. Where it ran out of work there is nothing to compare: the
// other ledger's sample of the round has no partner then, and must be the last.
func (r *retentionResults) sweep(x *shelf, connections, round int) {
	x.awaitSweeper()
	before, began := x.expired(), time.Now()
	m := x.fresh(connections, round)
	x.hold()
	took := time.Since(began)
	after := x.expired()
	forgotten := float64(before-after) / took.Seconds()
	m.note = fmt.Sprintf("forgot %.0f a second", forgotten)
	if after == 0 {
		x.say("the sweeper ran out of work\n")
		return
	}
	r.forgotten = append(r.forgotten, forgotten)
	r.keep(x, m)
}

// finish lets the sweeper forget the rest, under load, and autovacuum come by.
func (r *retentionResults) finish(x *shelf) {
	left := x.expired()
	x.release()
	began := time.Now()
	for x.expired() > 0 && time.Since(began) < 10*time.Minute {
		x.fresh(r.plan.connections[0], 0)
	}
	r.took, r.whole = time.Since(began), left-x.expired()
	x.awaitVacuum()
}

func (r *retentionResults) publish(s *stage) error {
	text := r.text()
	s.say("\n%s", text)
	return s.report(text)
}

func (r *retentionResults) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark results: retention\n\nWritten by `make bench-scale`; bench/README.md says how. New events while %d receipts that have outlived their\n"+
		"retention are forgotten, beside a ledger of the same size where nothing is. %s.\n\n", r.plan.expired, r.began.UTC().Format("2006-01-02 15:04 MST"))
	for _, fact := range r.facts {
		text.WriteString("- " + fact + "\n")
	}
	text.WriteString("\n## New events: without the sweeper → with it (median of the ratios within a round)\n\n")
	rows := [][]string{{"connections", "rounds", "per second", "p50 µs", "p99 µs", "CPU sidecar µs", "CPU PostgreSQL µs", "CPU both µs"}}
	for _, connections := range r.plan.connections {
		rows = append(rows, r.pair(connections))
	}
	table(&text, rows)
	text.WriteString("\n## Size of the swept ledger\n\n")
	rows = [][]string{{"", "receipts", "heap MiB", "indexes MiB", "heap and indexes, bytes a receipt", "in relation to before"}}
	for _, v := range r.sizes {
		rows = append(rows, v.row(r.sizes[0]))
	}
	table(&text, rows)
	r.remarks(&text)
	return text.String()
}

func (r *retentionResults) pair(connections int) []string {
	row := []string{fmt.Sprint(connections), fmt.Sprint(len(r.at("swept", connections)))}
	for _, of := range []func(sample) float64{rate, p50, p99, proxyCPU, ledgerCPU, bothCPU} {
		ratio, _ := r.ratio("swept", "quiet", connections, of, of)
		row = append(row, fmt.Sprintf("%.0f → %.0f (%.2f)", r.median("quiet", connections, of), r.median("swept", connections, of), ratio))
	}
	return row
}

func (v volume) row(before volume) []string {
	of := func(each float64) string { return fmt.Sprintf("%.0f", each*float64(v.receipts)/(1<<20)) }
	total := v.heap + v.index
	return []string{v.when, fmt.Sprint(v.receipts), of(v.heap), of(v.index), fmt.Sprintf("%.0f", total),
		fmt.Sprintf("%.2f times the size, %.2f times the receipts", total*float64(v.receipts)/max(1, (before.heap+before.index)*float64(before.receipts)),
			float64(v.receipts)/max(1, float64(before.receipts)))}
}

func (r *retentionResults) remarks(text *strings.Builder) {
	text.WriteString("\n## Remarks\n\n")
	fmt.Fprintf(text, "- Forgotten during the windows: %.0f receipts a second (median). The last %d took %.0f s, at %d connections, without a pause.\n",
		median(r.forgotten), r.whole, r.took.Seconds(), r.plan.connections[0])
	text.WriteString("- CPU with the sweeper is all that sidecar and PostgreSQL used, sweeping and autovacuum included, for each new event.\n" +
		"- Expired receipts were due within a day, in the order in which they were written; IDs are in no order. The new ones of the last line\n" +
		"  are copied as the first ones were, so that what they take can be compared.\n")
	text.WriteString("- " + r.disturbed() + "\n")
}

package main

import (
	"fmt"
	"strings"
)

// promise is how soon the replica that stored an event takes it, in ms (p99).
const promise = 250

func (r *backlogResults) publish(short *situation) error {
	text := r.text(short)
	short.say("\n%s", text)
	return short.report(text)
}

func (r *backlogResults) text(short *situation) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark results: backlog\n\nWritten by `make bench-scale`; bench/README.md says how. %s.\n\n", r.began.UTC().Format("2006-01-02 15:04 MST"))
	for _, fact := range short.facts() {
		text.WriteString("- " + fact + "\n")
	}
	fmt.Fprintf(&text, "\nAim: pick-up and CPU for each event within a quarter of the short queue's; and pick-up within %d ms (p99).\n", promise)
	fmt.Fprintf(&text, "\n## %d events a second, stored and worked off at once\n\n", steadyRate)
	table(&text, r.steadyRows())
	text.WriteString("\n## Stored events worked off at full speed\n\n")
	table(&text, r.burstRows())
	r.remarks(&text)
	return text.String()
}

func waitP50(m sample) float64  { return m.waits.p50 }
func waitP99(m sample) float64  { return m.waits.p99 }
func waitMost(m sample) float64 { return m.waits.most }

// pair is the medians of the two of a contest, and the ratio.
func (r *backlogResults) pair(c contest, of func(sample) float64, format string) (cell string, ratio float64) {
	with, to := c.with.name+" "+c.what, c.to.name+" "+c.what
	connections := r.samples[with][0].connections
	ratio, _ = r.ratio(with, to, connections, of, of)
	return fmt.Sprintf(format+" → "+format+" (%.2f)", r.median(to, connections, of), r.median(with, connections, of), ratio), ratio
}

func (r *backlogResults) steadyRows() [][]string {
	rows := [][]string{{"", "pick-up p50 ms", "pick-up p99 ms", "longest ms", "CPU sidecar µs", "CPU PostgreSQL µs", "CPU both", "pick-up", "CPU"}}
	for _, c := range r.contests {
		if r.samples[c.with.name+" "+c.what][0].waits.count == 0 {
			continue
		}
		row := []string{c.title}
		for _, of := range []func(sample) float64{waitP50, waitP99, waitMost} {
			cell, _ := r.pair(c, of, "%.1f")
			row = append(row, cell)
		}
		for _, of := range []func(sample) float64{proxyCPU, ledgerCPU} {
			cell, _ := r.pair(c, of, "%.0f")
			row = append(row, cell)
		}
		cell, ratio := r.pair(c, bothCPU, "%.0f")
		rows = append(rows, append(row, cell, r.waitVerdict(c), verdict(ratio, 1.25, true)))
	}
	return rows
}

func (r *backlogResults) burstRows() [][]string {
	rows := [][]string{{"", "per second", "CPU sidecar µs", "CPU PostgreSQL µs", "CPU both", "CPU"}}
	for _, c := range r.contests {
		if r.samples[c.with.name+" "+c.what][0].waits.count > 0 {
			continue
		}
		row := []string{c.title}
		for _, of := range []func(sample) float64{rate, proxyCPU, ledgerCPU} {
			cell, _ := r.pair(c, of, "%.0f")
			row = append(row, cell)
		}
		cell, ratio := r.pair(c, bothCPU, "%.0f")
		rows = append(rows, append(row, cell, verdict(ratio, 1.25, true)))
	}
	return rows
}

// waitVerdict judges the pick-up of a contest by the worse of p50 and p99.
func (r *backlogResults) waitVerdict(c contest) string {
	with, to := c.with.name+" "+c.what, c.to.name+" "+c.what
	connections := r.samples[with][0].connections
	worst, verdicts := 0.0, ""
	for _, of := range []func(sample) float64{waitP50, waitP99} {
		ratio, _ := r.ratio(with, to, connections, of, of)
		if ratio > worst {
			worst, verdicts = ratio, judgeWait(ratio, r.median(with, connections, of), values(r.at(to, connections), of))
		}
	}
	if found := r.median(with, connections, waitP99); found > promise {
		verdicts += fmt.Sprintf("; more than %d ms", promise)
	}
	return verdicts
}

// judgeWait judges a ratio of waits. Where it is too large, but the short queue's own rounds lie as far apart, it is told so.
func judgeWait(ratio, found float64, short []float64) string {
	told := verdict(ratio, 1.25, true)
	if ratio <= 1.25 {
		return told
	}
	low, high := short[0], short[0]
	for _, value := range short {
		low, high = min(low, value), max(high, value)
	}
	if found <= high {
		return told + fmt.Sprintf(", within the short queue's own %.1f to %.1f ms", low, high)
	}
	return told
}

func values(samples []sample, of func(sample) float64) []float64 {
	list := make([]float64, 0, len(samples))
	for _, m := range samples {
		list = append(list, of(m))
	}
	return list
}

func (r *backlogResults) remarks(text *strings.Builder) {
	text.WriteString("\nEach cell: short queue → this one (median of the ratios within a round).\n\n## Remarks\n\n")
	fmt.Fprintf(text, "- Pick-up is from when an event is due to when the worker looks it up, by the database's clock. The worker looks at most every 20 ms, so\n"+
		"  that events that come one by one are taken by the handful: a wait of up to 20 ms is by design, and a quarter of it is a few ms.\n")
	fmt.Fprintf(text, "- The queue of a million had %d events when it was measured first, and %d in the end.\n", r.queued[0], r.queued[1])
	fmt.Fprintf(text, "- Worked off beside: `concurrency: 8`, and an application that takes %s: a hundred a second, in both (the short one had %d).\n", slowDelay, shortQueue)
	fmt.Fprintf(text, "- Behind the transaction (one snapshot, REPEATABLE READ, for %.1f minutes): %d events, %d a second and every other minute %d as fast as\n"+
		"  they are acknowledged. In the end PostgreSQL counted %d old versions of receipts that nobody may clean up.\n",
		r.lasted.Minutes(), r.events, steadyRate, burst, r.dead)
	text.WriteString("- " + r.disturbed() + "\n")
}

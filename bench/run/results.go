package main

import (
	"fmt"
	"strings"
	"time"
)

// results is everything that a run of comparison found.
type results struct {
	began    time.Time
	plan     plan
	facts    []string
	variants []variant
	samples  map[string][]sample // by variant
	commits  []time.Duration     // median of a commit, by round
	idle     memory
	size     *receiptSize
	exported int64 // traces that reached the collector
	remarked []string
}

// disturbed tells how far the measurements can be trusted.
func (r *results) disturbed() string {
	most, failed := 0.0, 0.0
	var others []float64
	for _, all := range r.samples {
		for _, m := range all {
			failed += failures(m)
			most = max(most, m.others)
			others = append(others, m.others)
		}
	}
	return fmt.Sprintf("Answers that were not what was expected: %.0f. Other programs used %.0f %% of the machine during the median measurement, at most %.0f %%.",
		failed, 100*median(others), 100*most)
}

// at is a variant's samples at a number of connections, in the order of the rounds.
func (r *results) at(name string, connections int) []sample {
	var found []sample
	for _, m := range r.samples[name] {
		if m.connections == connections {
			found = append(found, m)
		}
	}
	return found
}

func (r *results) median(name string, connections int, of func(sample) float64) float64 {
	var values []float64
	for _, m := range r.at(name, connections) {
		values = append(values, of(m))
	}
	return median(values)
}

// ratio is the median over the rounds of one variant's value in relation to another's of the same round. False where
// one of them was not measured.
func (r *results) ratio(name, to string, connections int, of, toOf func(sample) float64) (float64, bool) {
	var ratios []float64
	others := r.at(to, connections)
	for i, m := range r.at(name, connections) {
		if i < len(others) && toOf(others[i]) > 0 {
			ratios = append(ratios, of(m)/toOf(others[i]))
		}
	}
	return median(ratios), len(ratios) > 0
}

// difference is the median over the rounds of one variant's value less another's.
func (r *results) difference(name, to string, connections int, of func(sample) float64) (float64, bool) {
	var differences []float64
	others := r.at(to, connections)
	for i, m := range r.at(name, connections) {
		if i < len(others) {
			differences = append(differences, of(m)-of(others[i]))
		}
	}
	return median(differences), len(differences) > 0
}

func rate(m sample) float64      { return m.PerSecond }
func p50(m sample) float64       { return m.P50 }
func p99(m sample) float64       { return m.P99 }
func proxyCPU(m sample) float64  { return m.proxy }
func ledgerCPU(m sample) float64 { return m.ledger }
func bothCPU(m sample) float64   { return m.proxy + m.ledger }
func failures(m sample) float64  { return float64(m.Failed) }

// line is a sample as it is told while running.
func (m sample) line(name string) string {
	text := fmt.Sprintf("%-7s %4d connections %9.0f/s  p50 %8.0f µs  p99 %8.0f µs  CPU %6.1f + %5.1f µs  %5.1f MiB",
		name, m.connections, m.PerSecond, m.P50, m.P99, m.proxy, m.ledger, mebi(m.memory.Resident))
	if m.note != "" {
		text += "  [" + m.note + "]"
	}
	if m.others > 0.05 {
		text += fmt.Sprintf("  (others used %.0f %% of the machine)", 100*m.others)
	}
	return text
}

func mebi(kibi int) float64 { return float64(kibi) / 1024 }

// table writes rows in Markdown, with columns as wide as their widest cell.
func table(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				b.WriteString("| " + strings.Repeat("-", width) + " ")
			}
			b.WriteString("|\n")
		}
	}
}

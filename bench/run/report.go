package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// facts are what one must know of the machine and the services to read absolute numbers.
func (b *bench) facts() []string {
	var postgres, settings string
	b.must("PostgreSQL's version", b.conn.QueryRow(b.ctx, `SELECT current_setting('server_version'),
		'fsync ' || current_setting('fsync') || ', synchronous_commit ' || current_setting('synchronous_commit') ||
		', shared_buffers ' || current_setting('shared_buffers') || ', max_wal_size ' || current_setting('max_wal_size')`).
		Scan(&postgres, &settings))
	return []string{
		"commit " + said(b.ctx, "git", "describe", "--always", "--dirty", "--abbrev=12"),
		fmt.Sprintf("%d cores (%s), kernel %s", runtime.NumCPU(), processor(), said(b.ctx, "uname", "-r")),
		runtime.Version() + ", PostgreSQL " + postgres + " (" + settings + ")",
		said(b.ctx, "redis-server", "--version") + "; " + nginxVersion(b.stage),
		fmt.Sprintf("%d rounds, windows of %s after %s of load; bodies of 1 KiB; all on the loopback interface, load generator and application on the same cores",
			b.plan.rounds, b.plan.window, b.plan.warm),
		fmt.Sprintf("sidecar: GOMEMLIMIT=%s, log level info, metrics on, tracing configured and not sampled", b.plan.memoryLimit),
	}
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(data)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// publish prints the tables and writes the report.
func (r *results) publish(s *stage) error {
	text := r.text()
	s.say("\n%s", text)
	return s.report(text)
}

func (r *results) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark results\n\nWritten by `make bench`, which says in bench/README.md what it does. Absolute numbers are this machine's;\n"+
		"ratios, taken within each round, are the product's. %s.\n\n", r.began.UTC().Format("2006-01-02 15:04 MST"))
	for _, fact := range r.facts {
		b.WriteString("- " + fact + "\n")
	}
	b.WriteString("\n## Targets\n\n")
	rows := [][]string{{"aim", "found", "verdict"}}
	for _, t := range r.targets() {
		rows = append(rows, []string{t.aim, t.found, t.verdict})
	}
	table(&b, rows)
	for _, connections := range r.plan.connections {
		fmt.Fprintf(&b, "\n## %d connections\n\n", connections)
		table(&b, r.rows(connections))
	}
	r.remarks(&b)
	return b.String()
}

// rows are the medians of one number of connections.
func (r *results) rows(connections int) [][]string {
	rows := [][]string{{"", "per second", "to plain", "spread", "p50 µs", "p99 µs", "CPU proxy µs", "CPU PostgreSQL µs", "CPU Redis µs", "CPU to plain", "RSS MiB"}}
	for _, v := range r.variants {
		if len(r.at(v.name, connections)) == 0 {
			continue
		}
		value := func(of func(sample) float64, format string) string {
			return fmt.Sprintf(format, r.median(v.name, connections, of))
		}
		ratio := func(of, toOf func(sample) float64) string {
			if found, measured := r.ratio(v.name, "plain", connections, of, toOf); measured && found > 0 {
				return fmt.Sprintf("%.2f", found)
			}
			return "–"
		}
		rows = append(rows, []string{v.title, value(rate, "%.0f"), ratio(rate, rate), r.spread(v.name, connections), value(p50, "%.0f"), value(p99, "%.0f"),
			value(proxyCPU, "%.1f"), value(ledgerCPU, "%.1f"), value(func(m sample) float64 { return m.redis }, "%.1f"),
			ratio(bothCPU, proxyCPU), value(func(m sample) float64 { return mebi(m.memory.Resident) }, "%.1f")})
	}
	return rows
}

// spread is the lowest and the highest rate of the rounds, in percent of the median.
func (r *results) spread(name string, connections int) string {
	middle, low, high := r.median(name, connections, rate), 1e18, 0.0
	for _, m := range r.at(name, connections) {
		low, high = min(low, m.PerSecond), max(high, m.PerSecond)
	}
	if middle == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.0f..%+.0f %%", 100*(low/middle-1), 100*(high/middle-1))
}

// remarks tell what a reader must know to trust the tables.
func (r *results) remarks(b *strings.Builder) {
	b.WriteString("\n## Remarks\n\n")
	fmt.Fprintf(b, "- One commit of one small row, one connection: %.0f µs (median).\n", r.commit())
	if s := r.size; s != nil {
		fmt.Fprintf(b, "- %d receipts (signed IDs of 28 bytes in no order, no business object, results of 11 bytes), VACUUM after every %d: heap %.0f, indexes %.0f, other tables %.1f,\n"+
			"  together %.0f bytes each; after VACUUM FULL %.0f.\n", s.Receipts, sizeBatch, s.Heap, s.Index, s.Others, s.total(), s.Rewritten)
	}
	if all := r.samples["new"]; len(all) > 0 {
		fmt.Fprintf(b, "- How well commits were shared in the last measurement of `new`: %s.\n", all[len(all)-1].note)
	}
	for _, name := range []string{"local", "redis"} {
		if all := r.samples[name]; len(all) > 0 {
			fmt.Fprintf(b, "- Who answered in `%s`, by the sidecar's metrics, last measurement: %s.\n", name, orNothing(all[len(all)-1].note))
		}
	}
	if len(r.samples["new"]) > 0 {
		fmt.Fprintf(b, "- Batches of spans that reached the collector: %d (nothing is sampled).\n", r.exported)
	}
	failed, others := 0.0, 0.0
	for _, all := range r.samples {
		for _, m := range all {
			failed += failures(m)
			others = max(others, m.others)
		}
	}
	fmt.Fprintf(b, "- Answers that were not what was expected: %.0f. Other programs used at most %.0f %% of the machine during a measurement.\n", failed, 100*others)
}

func orNothing(text string) string {
	if text == "" {
		return "not told"
	}
	return text
}

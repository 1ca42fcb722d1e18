package main

import (
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// scaled is a ledger that was filled before.
type scaled struct {
	*sidecar
	name     string
	receipts int
	events   uint64
}

// scale compares new events of a small ledger with those of a large one: each in a namespace of its own on the same
// server, in turn.
func scale(s *stage) error {
	b := &bench{stage: s, services: s.startServices()}
	began := time.Now()
	collector, exported := b.collector()
	b.traces = exported.Load
	program := b.buildShipped()
	ledgers := []*scaled{{name: "small", receipts: s.plan.small}, {name: "large", receipts: s.plan.large}}
	for _, l := range ledgers {
		l.sidecar = b.sidecar(sidecarConfig{name: l.name, program: program, namespace: l.name, upstream: b.app.address,
			database: b.database, redis: b.redis}, collector)
		b.awaitLedger(b.generator, l.address, 0)
		b.prefill(s, l.name, l.receipts)
	}
	r := &results{began: began, plan: s.plan, samples: map[string][]sample{}}
	for round := range s.plan.rounds {
		for i := range ledgers {
			b.measureScaled(r, ledgers[(i+round)%2], round)
		}
	}
	for _, command := range []string{"capacity", "audit verify"} {
		if told := b.timeCommand(ledgers[1], command); told != "" {
			r.remarked = append(r.remarked, told)
			b.say("%s\n", told)
		}
	}
	return b.publishScaled(r)
}

// timeCommand runs a command that reads the ledger as a whole. It tells nothing where the program does not have it.
func (b *bench) timeCommand(l *scaled, command string) string {
	cmd := exec.CommandContext(b.ctx, l.program, strings.Fields(command)...)
	cmd.Env = l.environment
	before, err := readAccount()
	b.must("the accounts", err)
	out, err := cmd.CombinedOutput()
	after, accountErr := readAccount()
	b.must("the accounts", accountErr)
	if strings.Contains(string(out), "not supported in this version") {
		return ""
	}
	outcome := "exit status 0"
	if err != nil {
		outcome = err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Sprintf("`sidecar %s` against the large ledger: %.1f s, CPU %.1f s of its own and %.1f s of PostgreSQL; %s; its last line: %s", command,
		after.at.Sub(before.at).Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		(after.family(b.postgresPID) - before.family(b.postgresPID)).Seconds(), outcome, lines[len(lines)-1])
}

// measureScaled measures with IDs in no order, each of which goes to another page of the index, and with IDs that rise.
func (b *bench) measureScaled(r *results, l *scaled, round int) {
	for _, ordered := range []bool{false, true} {
		for _, connections := range b.plan.connections {
			v := &variant{name: scaledName(l.name, ordered), pid: l.pid(), job: func(connections int) job {
				return job{address: l.address, target: route, want: "applied", connections: connections, seed: 1, first: l.events, ordered: ordered}
			}}
			m := b.measure(v, connections, round)
			l.events += m.Delivered
			r.samples[v.name] = append(r.samples[v.name], m)
			b.say("round %d/%d  %s\n", round+1, b.plan.rounds, m.line(v.name))
		}
	}
}

func scaledName(ledger string, ordered bool) string {
	if ordered {
		return ledger + ", rising IDs"
	}
	return ledger + ", scattered IDs"
}

// publishScaled prints what grew, and by how much.
func (b *bench) publishScaled(r *results) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark results: size of the ledger\n\nWritten by `make bench-scale`: new events into a ledger of %d receipts in relation to one of %d. %s.\n\n",
		b.plan.large, b.plan.small, r.began.UTC().Format("2006-01-02 15:04 MST"))
	for _, fact := range b.facts() {
		text.WriteString("- " + fact + "\n")
	}
	text.WriteString("\nAim: CPU and p50 within a quarter.\n\n")
	rows := [][]string{{"IDs", "connections", "per second", "p50", "CPU sidecar", "CPU PostgreSQL", "CPU both", "verdict"}}
	for _, ordered := range []bool{false, true} {
		for _, connections := range b.plan.connections {
			rows = append(rows, r.scaledRow(ordered, connections))
		}
	}
	table(&text, rows)
	text.WriteString("\n## Remarks\n\n")
	for _, remark := range append(r.remarked, r.disturbed()) {
		text.WriteString("- " + remark + "\n")
	}
	b.say("\n%s", text.String())
	return b.report(text.String())
}

func (r *results) scaledRow(ordered bool, connections int) []string {
	large, small := scaledName("large", ordered), scaledName("small", ordered)
	_, ids, _ := strings.Cut(small, ", ")
	row := []string{ids, fmt.Sprint(connections)}
	worst := 0.0
	for _, of := range []func(sample) float64{rate, p50, proxyCPU, ledgerCPU, bothCPU} {
		ratio, _ := r.ratio(large, small, connections, of, of)
		row = append(row, fmt.Sprintf("%.0f → %.0f (%.2f)", r.median(small, connections, of), r.median(large, connections, of), ratio))
	}
	for _, of := range []func(sample) float64{p50, bothCPU} {
		ratio, _ := r.ratio(large, small, connections, of, of)
		worst = max(worst, ratio)
	}
	return append(row, verdict(worst, 1.25, true))
}

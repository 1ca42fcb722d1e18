package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// shortQueue is how many events are worked off in each measurement.
const shortQueue = 20_000

// backlog compares what an event costs that the worker takes from a short queue, from a queue of a million, and from one
// whose index is full of entries that a long transaction keeps from being cleaned up.
func backlog(s *stage) error {
	b := &bench{stage: s, services: s.startServices()}
	began := time.Now()
	b.collectorAddress, _ = b.collector()
	b.program = b.build("./cmd/sidecar", "sidecar")
	b.acceptScenarios()
	samples := map[string]sample{}
	tell := func(name string, m sample) {
		samples[name] = m
		b.say("%s\n", m.line(name))
	}
	b.apply(b.generator, b.queue.address, 5, b.queue.accepted, shortQueue, 64)
	b.queue.accepted += shortQueue
	tell("a short queue", b.drain(64))
	end := b.longTransaction()
	for until := time.Now().Add(b.plan.behind); ; {
		b.apply(b.generator, b.queue.address, 5, b.queue.accepted, shortQueue, 64)
		b.queue.accepted += shortQueue
		m := b.drain(64)
		if time.Now().After(until) {
			tell(fmt.Sprintf("after %s behind a transaction", b.plan.behind), m)
			break
		}
	}
	end()
	b.prefillQueue(b.plan.backlog)
	tell(fmt.Sprintf("a queue of %d", b.plan.backlog), b.drainPart(shortQueue))
	return b.publishBacklog(began, samples)
}

// longTransaction holds a snapshot, as a forgotten session or a backup does, until the returned function is called.
func (b *bench) longTransaction() (end func()) {
	conn, err := pgx.Connect(b.ctx, b.database)
	b.must("a connection", err)
	_, err = conn.Exec(b.ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM sidecar_accept.receipts LIMIT 1")
	b.must("a long transaction", err)
	return func() { _ = conn.Close(context.Background()) } //nolint:contextcheck // the run's own may be over
}

// prefillQueue copies one stored event until there are count more, each due a microsecond after the one before.
func (b *bench) prefillQueue(count int) {
	b.apply(b.generator, b.queue.address, 5, b.queue.accepted, 1, 1)
	b.queue.accepted++
	const id = `convert_to('evt_' || lpad(to_hex(n), 16, '0') || substr(md5(n::text), 1, 8), 'UTF8')`
	columns := b.columns(b.stage, "sidecar_accept")
	values := make([]string, len(columns))
	for i, column := range columns {
		switch column {
		case "event_id":
			values[i] = id
		case "due":
			values[i] = "one.due + n * interval '1 microsecond'"
		default:
			values[i] = "one." + column
		}
	}
	const of = ` FROM generate_series(1, $1::bigint) AS n, (SELECT * FROM sidecar_accept.receipts WHERE state = 3 LIMIT 1) AS one`
	for _, statement := range []string{
		"INSERT INTO sidecar_accept.jobs (until, scope_id, event_id, request) SELECT j.until, j.scope_id, " + id + ", j.request" +
			of + " JOIN sidecar_accept.jobs j ON j.scope_id = one.scope_id AND j.event_id = one.event_id",
		"INSERT INTO sidecar_accept.receipts (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + of,
	} {
		_, err := b.conn.Exec(b.ctx, statement, pgx.QueryExecModeSimpleProtocol, int64(count))
		b.must("prefilling the queue", err)
	}
	for _, table := range []string{"receipts", "jobs"} {
		_, err := b.conn.Exec(b.ctx, "VACUUM (ANALYZE) sidecar_accept."+table, pgx.QueryExecModeSimpleProtocol)
		b.must("VACUUM", err)
	}
}

// drainPart measures the worker from a tenth of count events to all of them, and holds it again.
func (b *bench) drainPart(count float64) sample {
	q := b.queue
	m := sample{connections: 64}
	b.configure(acceptNamed, acceptMode)
	begin := b.awaitWorked(q.worked + count/10)
	from := b.workedOff()
	end := b.awaitWorked(q.worked + count)
	m.Answers = int(b.workedOff() - from)
	b.configure(acceptNamed, acceptMode+paused)
	m.PerSecond = float64(m.Answers) / end.at.Sub(begin.at).Seconds()
	m.use(b, &variant{pid: q.pid()}, [2]account{begin, end})
	return m
}

func (b *bench) publishBacklog(began time.Time, samples map[string]sample) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark results: backlog\n\nWritten by `make bench-scale`: stored events worked off from queues of different "+
		"lengths. %s.\n\n", began.UTC().Format("2006-01-02 15:04 MST"))
	for _, fact := range b.facts() {
		text.WriteString("- " + fact + "\n")
	}
	text.WriteString("\nAim: CPU for each event within a quarter of the short queue's.\n\n")
	rows := [][]string{{"queue", "per second", "CPU sidecar µs", "CPU PostgreSQL µs", "CPU both to the short queue", "verdict"}}
	short := samples["a short queue"]
	for _, name := range []string{"a short queue", fmt.Sprintf("after %s behind a transaction", b.plan.behind), fmt.Sprintf("a queue of %d", b.plan.backlog)} {
		m := samples[name]
		ratio := bothCPU(m) / max(1, bothCPU(short))
		rows = append(rows, []string{name, fmt.Sprintf("%.0f", m.PerSecond), fmt.Sprintf("%.1f", m.proxy), fmt.Sprintf("%.1f", m.ledger),
			fmt.Sprintf("%.2f", ratio), verdict(ratio, 1.25, true)})
	}
	table(&text, rows)
	b.say("\n%s", text.String())
	if b.plan.report == "" {
		return nil
	}
	return os.WriteFile(b.plan.report, []byte(text.String()), 0o644) //nolint:gosec // to be read
}

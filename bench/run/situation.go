package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	steadyRate        = 300 // events a second, where a wait is measured
	steadyConnections = 32
	steadyWindow      = 8 * time.Second
	burstConnections  = 64
	burst             = 10_000 // events that are worked off at full speed
	reloadTime        = 3 * time.Second

	other = "acme/reports"
	// otherIntegration is another one of the same sidecar, in front of whose queue the first one's events are taken.
	otherIntegration = "  - account: acme\n    name: reports\n    route: " + slowRoute + "\n    provider: stripe\n" +
		"    credentials:\n      - {id: bench, secret: {file: %[2]s}, status: active}\n" + acceptMode
	// slowly is how its events are worked off beside: by eight attempts at once, each of which takes the application 80 ms.
	slowly    = "    concurrency: 8\n"
	slowDelay = 80 * time.Millisecond
)

// situation is a state that a queue may be in: a sidecar in accept mode with a database server of its own.
type situation struct {
	*bench
	name string
	log  attemptLog
}

// situation starts one. Its sidecar works; the other integration is held.
func (b *bench) situation(name string) *situation {
	own := &bench{stage: b.stage, services: b.withServer(b.stage), program: b.program, collectorAddress: b.collectorAddress}
	x := &situation{bench: own, name: name, log: attemptLog{b.dir() + "/" + name + ".log"}}
	own.queue = &queue{working: acceptMode + otherIntegration + paused, held: acceptMode + paused + otherIntegration + paused}
	own.queue.sidecar = own.sidecar(sidecarConfig{name: name, program: own.program, namespace: name, upstream: own.app.address,
		database: own.database, redis: own.redis, lines: own.queue.working, log: x.log.file}, own.collectorAddress)
	own.atBegin = func() { own.must("the log", x.log.drop()) }
	own.awaitQueued(route, 5)
	own.queue.accepted = 1
	return x
}

// steady measures a moderate rate of events that are stored and worked off at once: what each costs in all, and how long it
// waited for the worker.
func (x *situation) steady(round int) sample {
	v := &variant{name: x.name, pid: x.queue.pid(), job: func(connections int) job {
		return job{address: x.queue.address, target: route, want: "queued", connections: connections, seed: 5, first: x.queue.accepted,
			rate: steadyRate, window: steadyWindow}
	}}
	m := x.measure(v, steadyConnections, round)
	x.stored(m.Delivered)
	var err error
	m.waits, err = x.log.read(scope)
	x.must("the log", err)
	return m
}

// stored waits until what was stored is worked off.
func (x *situation) stored(count uint64) {
	x.queue.accepted += count
	x.queue.worked = float64(x.queue.accepted)
	x.awaitWorked(scope, x.queue.worked)
}

// beside is steady while the other integration's queue is worked off slowly.
func (x *situation) beside(round int) sample {
	x.pace(slowDelay)
	x.configure(x.name, acceptMode+otherIntegration+slowly)
	x.pause(reloadTime)
	m := x.steady(round)
	x.configure(x.name, x.queue.working)
	x.pause(reloadTime)
	x.pace(0)
	return m
}

// pace tells the application how slow to be with the other integration.
func (x *situation) pace(delay time.Duration) {
	request, err := http.NewRequestWithContext(x.ctx, http.MethodGet, "http://"+x.app.address+"/pace?delay="+delay.String(), nil)
	x.must("the application's pace", err)
	answer, err := http.DefaultClient.Do(request)
	x.must("the application's pace", err)
	answer.Body.Close()
}

// burst stores events while the worker is held, and measures it working them off at full speed.
func (x *situation) burst(round int) sample {
	x.configure(x.name, x.queue.held)
	x.pause(reloadTime)
	x.apply(x.generator, x.queue.address, 5, x.queue.accepted, burst, burstConnections)
	x.queue.accepted += burst
	m := x.drain(burstConnections)
	m.round = round
	x.configure(x.name, x.queue.working)
	x.pause(reloadTime)
	return m
}

// burstOfOther measures the worker at the other integration's queue, at full speed.
func (x *situation) burstOfOther(round int) sample {
	m := sample{round: round, connections: burstConnections}
	before := x.workedOff(other)
	x.configure(x.name, acceptMode+otherIntegration)
	begin := x.awaitWorked(other, before+burst/10)
	from := x.workedOff(other)
	end := x.awaitWorked(other, from+burst)
	m.Answers = int(x.workedOff(other) - from)
	x.configure(x.name, x.queue.working)
	m.PerSecond = float64(m.Answers) / end.at.Sub(begin.at).Seconds()
	m.use(x.bench, &variant{pid: x.queue.pid()}, [2]account{begin, end})
	x.pause(reloadTime)
	return m
}

// busy keeps events coming until a time: steadily, and every other minute a burst as fast as they are acknowledged.
func (x *situation) busy(until time.Time) {
	for minute := 0; time.Until(until) > time.Second; minute++ {
		result, _ := x.load(x.generator, job{address: x.queue.address, target: route, want: "queued", connections: steadyConnections, seed: 5,
			first: x.queue.accepted, rate: steadyRate, window: min(time.Minute, time.Until(until))}, nil, nil)
		x.stored(result.Delivered)
		if minute%2 == 1 {
			x.apply(x.generator, x.queue.address, 5, x.queue.accepted, burst, burstConnections)
			x.stored(burst)
		}
		x.must("the log", x.log.drop())
	}
}

// longTransaction holds a snapshot, as a forgotten session or a backup does, until the returned function is called.
func (x *situation) longTransaction() (end func()) {
	conn, err := pgx.Connect(x.ctx, x.database)
	x.must("a connection", err)
	_, err = conn.Exec(x.ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM sidecar_"+x.name+".receipts LIMIT 1")
	x.must("a long transaction", err)
	return func() {
		_, err := conn.Exec(x.ctx, "COMMIT")
		x.must("the long transaction", err)  // it was there all the time
		_ = conn.Close(context.Background()) //nolint:contextcheck // the run's own may be over
	}
}

// prefillQueue copies one stored event of the other integration until there are count more, each due a microsecond after the
// one before.
func (x *situation) prefillQueue(count int) {
	x.awaitQueued(slowRoute, 6)
	schema := "sidecar_" + x.name
	const id = `convert_to('evt_' || lpad(to_hex(n), 16, '0') || substr(md5(n::text), 1, 8), 'UTF8')`
	columns := x.columns(x.stage, schema)
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
	of := ` FROM generate_series(1, $1::bigint) AS n, (SELECT * FROM ` + schema + `.receipts WHERE state = 3 LIMIT 1) AS one`
	for _, statement := range []string{
		"INSERT INTO " + schema + ".jobs (until, scope_id, event_id, request) SELECT j.until, j.scope_id, " + id + ", j.request" +
			of + " JOIN " + schema + ".jobs j ON j.scope_id = one.scope_id AND j.event_id = one.event_id",
		"INSERT INTO " + schema + ".receipts (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + of,
	} {
		_, err := x.conn.Exec(x.ctx, statement, pgx.QueryExecModeSimpleProtocol, int64(count))
		x.must("prefilling the queue", err)
	}
	for _, statement := range []string{"VACUUM (ANALYZE) " + schema + ".receipts", "VACUUM (ANALYZE) " + schema + ".jobs", "CHECKPOINT"} {
		_, err := x.conn.Exec(x.ctx, statement, pgx.QueryExecModeSimpleProtocol)
		x.must(statement, err)
	}
}

// queued is how many events of the other integration wait.
func (x *situation) queued() (count int64) {
	x.must("the queue", x.conn.QueryRow(x.ctx, fmt.Sprintf("SELECT count(*) FROM sidecar_%s.receipts WHERE state = 3", x.name)).Scan(&count))
	return count
}

// deadVersions is how many old versions of receipts are still there.
func (x *situation) deadVersions() (count int64) {
	x.must("the table", x.conn.QueryRow(x.ctx, `SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = $1::regclass`,
		"sidecar_"+x.name+".receipts").Scan(&count))
	return count
}

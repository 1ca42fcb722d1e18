package main

import (
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const sweepWait = 45 * time.Second // for a sweeper that was held to go on

// retention compares new events of a ledger whose sweeper is at work on receipts that have outlived their retention with
// those of one where nothing is to be forgotten, and tells how large the first one is before, after, and when the room is used
// again.
func retention(s *stage) error {
	b := &bench{stage: s, services: s.startShared()}
	began := time.Now()
	b.collectorAddress, _ = b.collector()
	b.program = b.buildShipped()
	r := &retentionResults{results: &results{began: began, plan: s.plan, samples: map[string][]sample{}}}
	quiet, swept := b.shelf("quiet"), b.shelf("swept")
	now := time.Now()
	quiet.prefillAging(s, quiet.name, 0, 2*s.plan.expired, now.Add(24*time.Hour), now.Add(144*time.Hour))
	swept.prefillAging(s, swept.name, 0, s.plan.expired, now.Add(-25*time.Hour), now.Add(-time.Hour))
	swept.prefillAging(s, swept.name, s.plan.expired, s.plan.expired, now.Add(24*time.Hour), now.Add(144*time.Hour))
	for _, x := range []*shelf{quiet, swept} {
		x.tidy()
		x.open()
	}
	r.facts = quiet.facts()
	swept.hold()
	r.sizes = append(r.sizes, swept.measure("with the expired ones"))
	for round := range s.plan.rounds {
		r.round(round, quiet, swept)
	}
	r.finish(swept)
	r.sizes = append(r.sizes, swept.measure("after the sweep and autovacuum"))
	swept.prefillAging(s, swept.name, 2*s.plan.expired, s.plan.expired, now.Add(145*time.Hour), now.Add(288*time.Hour))
	swept.awaitVacuum()
	r.sizes = append(r.sizes, swept.measure("and as many new ones"))
	return r.publish(s)
}

// shelf is a ledger with a server of its own, and its sidecar.
type shelf struct {
	*bench
	name    string
	sidecar *sidecar
	held    bool
}

// shelf makes a ledger with one receipt. Its sidecar is not running.
func (b *bench) shelf(name string) *shelf {
	own := &bench{stage: b.stage, services: b.withServer(b.stage), program: b.program, collectorAddress: b.collectorAddress}
	x := &shelf{bench: own, name: name}
	x.open()
	own.awaitLedger(own.generator, x.sidecar.address, 0)
	own.applied = 1
	x.sidecar.end()
	return x
}

// open starts the sidecar, which knows nothing of what was there before.
func (x *shelf) open() {
	x.sidecar = x.bench.sidecar(sidecarConfig{name: x.name, program: x.program, namespace: x.name, upstream: x.app.address,
		database: x.database, redis: x.redis}, x.collectorAddress)
	x.Cleanup(x.release) // or it could not end
}

// hold stops the sidecar where it stands, and with it its sweeper.
func (x *shelf) hold() {
	x.must("holding the sidecar", syscall.Kill(x.sidecar.pid(), syscall.SIGSTOP))
	x.held = true
}

func (x *shelf) release() {
	if x.held {
		_ = syscall.Kill(x.sidecar.pid(), syscall.SIGCONT)
		x.held = false
	}
}

// tidy leaves nothing of the prefilling to do.
func (x *shelf) tidy() {
	for _, statement := range []string{"VACUUM (ANALYZE) sidecar_" + x.name + ".receipts", "CHECKPOINT"} {
		_, err := x.conn.Exec(x.ctx, statement, pgx.QueryExecModeSimpleProtocol)
		x.must(statement, err)
	}
}

// fresh measures new events.
func (x *shelf) fresh(connections, round int) sample {
	v := &variant{name: x.name, pid: x.sidecar.pid(), job: func(connections int) job {
		return job{address: x.sidecar.address, target: route, want: "applied", connections: connections, seed: 1, first: x.applied}
	}}
	m := x.bench.measure(v, connections, round)
	x.applied += m.Delivered
	return m
}

// number asks for one of the ledger's.
func (x *shelf) number(what, query string) (number int64) {
	x.must(what, x.conn.QueryRow(x.ctx, query, pgx.QueryExecModeSimpleProtocol).Scan(&number))
	return number
}

// expired is how many receipts have outlived their retention.
func (x *shelf) expired() int64 {
	return x.number("the expired receipts", "SELECT count(*) FROM sidecar_"+x.name+".receipts WHERE state NOT IN (1, 3) AND due <= now()")
}

// awaitSweeper lets the sidecar go on and waits until its sweeper does.
func (x *shelf) awaitSweeper() {
	x.release()
	deadline := time.Now().Add(sweepWait)
	for before := x.oldest(); x.oldest() == before; x.pause(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.Fatalf("nothing is forgotten")
		}
	}
}

// oldest is the time, in seconds, when the receipt that is to be forgotten first was due.
func (x *shelf) oldest() int64 {
	return x.number("the oldest receipt", `SELECT extract(epoch FROM date_bin('10 seconds', due, '2000-01-01 00:00:00+00'))::bigint
		FROM sidecar_`+x.name+`.receipts WHERE state NOT IN (1, 3) AND due < 'infinity'
		ORDER BY date_bin('10 seconds', due, '2000-01-01 00:00:00+00') LIMIT 1`)
}

// awaitVacuum waits until autovacuum has done what there is to do.
func (x *shelf) awaitVacuum() {
	deadline := time.Now().Add(4 * time.Minute) // it comes every minute
	for x.number("the table", `SELECT n_dead_tup + n_ins_since_vacuum / 10 FROM pg_stat_user_tables WHERE relid = 'sidecar_`+x.name+`.receipts'::regclass`) >
		x.number("the table", `SELECT (reltuples * 0.02)::bigint + 2500 FROM pg_class WHERE oid = 'sidecar_`+x.name+`.receipts'::regclass`) {
		if time.Now().After(deadline) {
			x.say("! autovacuum did not come by\n")
			return
		}
		x.pause(time.Second)
	}
}

// volume is how large the receipts are.
type volume struct {
	when        string
	receipts    int64
	heap, index float64 // bytes for each receipt
}

func (x *shelf) measure(when string) volume {
	v := volume{when: when, receipts: x.number("the receipts", "SELECT count(*) FROM sidecar_"+x.name+".receipts")}
	v.heap, v.index, _ = x.sizes("sidecar_"+x.name, v.receipts)
	x.say("%s: %d receipts, heap %.0f, indexes %.0f bytes each\n", when, v.receipts, v.heap, v.index)
	return v
}

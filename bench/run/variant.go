package main

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

const (
	idleTime   = 3 * time.Second        // of a sidecar before its memory is read
	settleTime = 200 * time.Millisecond // before a measurement, for what the one before left to do
)

// variant is something that is measured.
type variant struct {
	name   string
	title  string
	pid    int                                       // whose family's CPU is the proxy's; 0: none
	job    func(connections int) job                 // what is delivered; nil: it is measured by another one
	before func(connections int)                     // not measured; nil: nothing
	after  func(j job, result outcome) (note string) // nil: nothing
}

// bench is a run that compares: what runs, and how many events there are so far.
type bench struct {
	*stage
	*services
	variants []*variant
	first    *sidecar // of two replicas
	second   *sidecar // knows the events from Redis only
	applied  uint64   // events of the ledger, numbers 0 to applied-1
	walked   uint64   // how far the second replica has come
	traces   func() int64

	program, collectorAddress string // of the sidecars

	queue *queue // of accept mode; nil: not measured

	counted map[string]float64 // answers by tier, when they were last counted

	committed float64 // transactions, when they were last counted

	atBegin, atEnd func() // of a window; nil: nothing
}

// recent is how many events a duplicate may be of: the last ones applied.
const recent = 10_000

// prepare starts everything that was asked for.
func (b *bench) prepare() {
	b.services = b.startServices()
	b.add("direct", "the application, no proxy", 0, b.app.address)
	if b.plan.only.has("plain") {
		address := testenv.Address(b)
		p := b.launch("plain", address, b.command(b.build("./bench/plain", "plain"), "-listen", address,
			"-upstream", "http://"+b.app.address, "-idle", strconv.Itoa(b.most())))
		b.add("plain", "`httputil.ReverseProxy`", p.pid(), address)
	}
	if b.plan.only.has("nginx") {
		if p, found := b.nginx(b.app.address); found {
			b.add("nginx", "nginx, `proxy_pass`", p.pid(), p.address)
		}
	}
	if b.plan.only.has("naive") {
		b.prepareNaive()
	}
	b.prepareSidecar()
}

func (b *bench) most() int {
	most := 0
	for _, n := range b.plan.connections {
		most = max(most, n)
	}
	return most
}

// add is a variant that only passes on.
func (b *bench) add(name, title string, pid int, address string) {
	if !b.plan.only.has(name) {
		return
	}
	b.variants = append(b.variants, &variant{name: name, title: title, pid: pid, job: func(connections int) job {
		return job{address: address, target: route, connections: connections}
	}})
}

func (b *bench) prepareNaive() {
	address := testenv.Address(b)
	p := b.launch("naive", address, b.command(b.build("./bench/naive", "naive"), "-listen", address, "-upstream", "http://"+b.app.address,
		"-database", b.database, "-secret", secret, "-idle", strconv.Itoa(b.most()), "-pool", strconv.Itoa(b.plan.pool)))
	var events uint64
	b.variants = append(b.variants, &variant{
		name: "naive", title: "naive: INSERT and UPDATE for each", pid: p.pid(),
		job: func(connections int) job {
			return job{address: p.address, target: route, connections: connections, seed: 2, first: events}
		},
		after: func(_ job, result outcome) string { events += result.Delivered; return "" },
	})
}

func (b *bench) prepareSidecar() {
	if !b.plan.only.has("new") && !b.plan.only.has("local") && !b.plan.only.has("redis") && !b.plan.only.has("pass") &&
		!b.plan.only.has("accept") {
		return
	}
	var exported *atomic.Int64
	b.collectorAddress, exported = b.collector()
	b.traces = exported.Load
	b.program = b.buildShipped()
	start := func(name string) *sidecar {
		r := b.sidecar(sidecarConfig{name: name, program: b.program, namespace: "bench", upstream: b.app.address,
			database: b.database, redis: b.redis}, b.collectorAddress)
		b.awaitLedger(b.generator, r.address, 0)
		return r
	}
	b.first = start("sidecar")
	if b.plan.only.has("redis") {
		b.second = start("second sidecar")
	}
	b.pause(idleTime)
	var err error
	b.first.idle, err = readMemory(b.first.pid())
	b.must("the sidecar's memory", err)
	b.addScenarios()
}

func (b *bench) addScenarios() {
	pid, address := b.first.pid(), b.first.address
	scenarios := []*variant{
		{name: "new", title: "sidecar: new events", pid: pid, before: b.countCommits, job: b.newEvents, after: func(_ job, result outcome) string {
			b.applied += result.Delivered
			return b.batches(result)
		}},
		{name: "local", title: "sidecar: duplicates of the last 10,000", pid: pid, before: b.applyRecent, job: b.localDuplicates,
			after: func(job, outcome) string { return b.tiers(b.first) }},
		{name: "pass", title: "sidecar: pass-through", pid: pid, job: func(connections int) job {
			return job{address: address, target: "/orders/1795?verbose=1", connections: connections}
		}},
	}
	if b.second != nil {
		scenarios = append(scenarios, &variant{name: "redis", title: "sidecar: duplicates from Redis", pid: b.second.pid(),
			before: b.applyForRedis, job: b.redisDuplicates, after: func(_ job, result outcome) string {
				b.walked += result.Delivered
				return b.tiers(b.second)
			}})
	}
	if b.plan.only.has("accept") {
		scenarios = append(scenarios, b.acceptScenarios()...)
	}
	for _, v := range scenarios {
		if b.plan.only.has(v.name) {
			b.variants = append(b.variants, v)
		}
	}
}

func (b *bench) newEvents(connections int) job {
	return job{address: b.first.address, target: route, want: "applied", connections: connections, seed: 1, first: b.applied}
}

func (b *bench) countCommits(int) { b.committed = b.commits(b.stage) }

// batches tells how well commits are shared: each event takes part in two.
func (b *bench) batches(result outcome) string {
	return fmt.Sprintf("%.1f events a commit", 2*float64(result.Delivered)/max(1, b.commits(b.stage)-b.committed))
}

// applyRecent applies 10,000 events, which are then the last ones.
func (b *bench) applyRecent(int) {
	b.applyMore(recent)
	b.countTiers(b.first)
}

func (b *bench) applyMore(count uint64) {
	b.apply(b.generator, b.first.address, 1, b.applied, count, 64)
	b.applied += count
}

func (b *bench) localDuplicates(connections int) job {
	return job{address: b.first.address, target: route, want: "replayed", connections: connections, seed: 1,
		first: b.applied - recent, count: recent, shuffle: true}
}

// applyForRedis makes sure that a walk through all events is longer than local memory remembers.
func (b *bench) applyForRedis(int) {
	if few := uint64(5 * recent); b.applied < few {
		b.applyMore(few - b.applied)
	}
	b.countTiers(b.second)
}

// redisDuplicates walks on through all events on the replica that did not apply them: where it comes, local memory has
// forgotten the last round.
func (b *bench) redisDuplicates(connections int) job {
	return job{address: b.second.address, target: route, want: "replayed", connections: connections, seed: 1,
		count: b.applied, skip: b.walked % b.applied}
}

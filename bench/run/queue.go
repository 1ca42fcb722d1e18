package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	acceptMode  = "    mode: accept\n    accept: {status: 200}\n    retry: {initial: 1s}\n"
	paused      = "    paused: true\n"
	acceptNamed = "accepting sidecar"
)

// queue is a sidecar in accept mode whose worker is held while deliveries are measured, and let go while the worker is.
type queue struct {
	*sidecar
	working, held string // its integration's lines
	accepted      uint64 // events 0 to accepted-1 are stored
	worked        float64
	drains        []sample
	round         int
}

// acceptScenarios start the sidecar. The acceptance is measured as any variant; after the last number of connections of a
// round the backlog is worked off, which is the other variant.
func (b *bench) acceptScenarios() []*variant {
	r := b.sidecar(sidecarConfig{name: acceptNamed, program: b.program, namespace: "accept", upstream: b.app.address,
		database: b.database, redis: b.redis, lines: acceptMode + paused}, b.collectorAddress)
	b.queue = &queue{sidecar: r, working: acceptMode, held: acceptMode + paused}
	b.awaitQueued(route, 5)
	b.queue.accepted = 1
	return []*variant{
		{name: "accept", title: "sidecar: accept mode, worker paused", pid: r.pid(), job: b.acceptedEvents, after: b.afterAccept},
		{name: "drain", title: "sidecar: stored events worked off", pid: r.pid()},
	}
}

// awaitQueued delivers one event until it is stored: a sidecar is ready before its database is.
func (b *bench) awaitQueued(target string, seed uint64) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		result, _ := b.load(b.generator, job{address: b.queue.address, target: target, want: "queued", connections: 1, seed: seed, count: 1, only: true}, nil, nil)
		if result.Failed == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("no event is stored: %s", result.Example)
		}
		b.pause(100 * time.Millisecond)
	}
}

func (b *bench) acceptedEvents(connections int) job {
	return job{address: b.queue.address, target: route, want: "queued", connections: connections, seed: 5, first: b.queue.accepted}
}

func (b *bench) afterAccept(j job, result outcome) string {
	b.queue.accepted += result.Delivered
	if j.connections != b.plan.connections[len(b.plan.connections)-1] {
		return ""
	}
	drain := b.drain(j.connections)
	b.queue.drains = append(b.queue.drains, drain)
	b.say("%s\n", drain.line("drain"))
	return ""
}

// drain lets the worker go and measures it from a tenth of the backlog to nine tenths, so that neither the reload nor the
// last few jobs count.
func (b *bench) drain(connections int) sample {
	q := b.queue
	m := sample{round: q.round, connections: connections}
	q.round++
	backlog := float64(q.accepted) - q.worked
	b.configure(q.name, q.working)
	begin := b.awaitWorked(scope, q.worked+backlog/10)
	from := b.workedOff(scope)
	end := b.awaitWorked(scope, q.worked+backlog*9/10)
	to := b.workedOff(scope)
	if v, err := readMemory(q.pid()); err == nil {
		m.memory = v
	}
	m.Answers = int(to - from)
	m.PerSecond = (to - from) / end.at.Sub(begin.at).Seconds()
	m.use(b, &variant{pid: q.pid()}, [2]account{begin, end})
	b.awaitWorked(scope, q.worked+backlog)
	q.worked += backlog
	b.configure(q.name, q.held)
	m.note = fmt.Sprintf("%.0f stored events", backlog)
	b.pause(3 * time.Second) // the file is read within two
	return m
}

// awaitWorked waits until so many events of an integration are applied.
func (b *bench) awaitWorked(integration string, count float64) account {
	deadline := time.Now().Add(5 * time.Minute)
	for b.workedOff(integration) < count {
		if time.Now().After(deadline) {
			b.Fatalf("only %.0f of %.0f stored events are worked off", b.workedOff(integration), count)
		}
		b.pause(20 * time.Millisecond)
	}
	a, err := readAccount()
	b.must("the accounts", err)
	return a
}

// workedOff is how many stored events of an integration the sidecar's metrics call applied.
func (b *bench) workedOff(integration string) float64 {
	page, err := b.queue.page(b.stage, "/metrics")
	b.must("the metrics", err)
	sum := 0.0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "webhook_attempts_total{") && strings.Contains(line, `outcome="applied"`) &&
			strings.Contains(line, `integration="`+integration+`"`) {
			fields := strings.Fields(line)
			n, _ := strconv.ParseFloat(fields[len(fields)-1], 64)
			sum += n
		}
	}
	return sum
}

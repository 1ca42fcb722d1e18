package main

import (
	"fmt"
	"math"
)

// target is what the product aims at, and what this run found.
type target struct {
	aim, found, verdict string
}

// relation is a target that is a ratio of a variant to another.
type relation struct {
	aim      string
	name, to string
	of, toOf func(sample) float64
	limit    float64
	atMost   bool
}

func relations() []relation {
	return []relation{
		{"CPU of sidecar and PostgreSQL per new event at most the plain proxy's per request", "new", "plain", bothCPU, proxyCPU, 1, true},
		{"new events per second at least the plain proxy's", "new", "plain", rate, rate, 1, false},
		{"new events per second at least half of nginx's", "new", "nginx", rate, rate, 0.5, false},
		{"duplicates from local memory at least 2.5 times the plain proxy's rate", "local", "plain", rate, rate, 2.5, false},
		{"duplicates from Redis at least 1.2 times the plain proxy's rate", "redis", "plain", rate, rate, 1.2, false},
		{"accept mode, worker paused: acknowledged per second at least 1.2 times the new events of forward mode", "accept", "new", rate, rate, 1.2, false},
		{"stored events worked off per second at least 0.7 times the new events of forward mode", "drain", "new", rate, rate, 0.7, false},
		{"pass-through at least 0.95 times the plain proxy's rate", "pass", "plain", rate, rate, 0.95, false},
	}
}

// targets judges everything that was measured, at the highest number of connections.
func (r *results) targets() []target {
	var all []target
	for _, aim := range relations() {
		all = append(all, r.judge(aim))
	}
	return append(all, r.judgeLatency(), r.judgeMemory("idle at most 30 MiB resident", r.idle, 30),
		r.judgeMemory(fmt.Sprintf("at most 80 MiB resident at %d connections", r.most()), r.highest(), 80), r.judgeSize())
}

func (r *results) most() int {
	most := 0
	for _, n := range r.plan.connections {
		most = max(most, n)
	}
	return most
}

func (r *results) judge(a relation) target {
	ratio, measured := r.ratio(a.name, a.to, r.most(), a.of, a.toOf)
	if !measured {
		return target{a.aim, "not measured", "–"}
	}
	return target{a.aim, fmt.Sprintf("%.2f", ratio), verdict(ratio, a.limit, a.atMost)}
}

func verdict(found, limit float64, atMost bool) string {
	switch {
	case atMost == (found <= limit) || found == limit:
		return "reached"
	case math.Abs(found-limit) <= 0.05*limit:
		return "missed by less than 5 %"
	default:
		return fmt.Sprintf("missed by %.0f %%", 100*math.Abs(found-limit)/limit)
	}
}

// judgeLatency compares what one connection waits longer than without a proxy.
func (r *results) judgeLatency() target {
	aim := "one connection: added p50 at most two commits plus 1.5 times what the plain proxy adds"
	sidecar, measured := r.difference("new", "direct", 1, p50)
	plain, too := r.difference("plain", "direct", 1, p50)
	if !measured || !too {
		return target{aim, "not measured", "–"}
	}
	commit := r.commit()
	limit := 2*commit + 1.5*plain
	found := fmt.Sprintf("%.0f µs of %.0f µs (commit %.0f, plain proxy %.0f)", sidecar, limit, commit, plain)
	return target{aim, found, verdict(sidecar, limit, true)}
}

// commit is the median time of a commit in µs.
func (r *results) commit() float64 {
	var values []float64
	for _, commit := range r.commits {
		values = append(values, float64(commit.Microseconds()))
	}
	return median(values)
}

// highest is the most memory that the sidecar had at the highest number of connections, whatever it did.
func (r *results) highest() memory {
	var most memory
	for _, name := range []string{"new", "local", "redis", "pass"} {
		for _, m := range r.at(name, r.most()) {
			if m.memory.Resident > most.Resident {
				most = m.memory
			}
		}
	}
	return most
}

func (r *results) judgeMemory(aim string, m memory, limit float64) target {
	if m.Resident == 0 {
		return target{aim, "not measured", "–"}
	}
	found := fmt.Sprintf("%.1f MiB (of it anonymous %.1f)", mebi(m.Resident), mebi(m.Anonymous))
	return target{aim, found, verdict(mebi(m.Resident), limit, true)}
}

func (r *results) judgeSize() target {
	aim := "at most 320 bytes per applied receipt, heap and index, VACUUM keeping up"
	if r.size == nil {
		return target{aim, "not measured", "–"}
	}
	return target{aim, fmt.Sprintf("%.0f bytes", r.size.total()), verdict(r.size.total(), 320, true)}
}

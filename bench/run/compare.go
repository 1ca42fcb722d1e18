package main

import (
	"slices"
	"time"
)

// compare measures every variant at every number of connections in every round. The order turns with the round, so that
// what one leaves behind does not always meet the same other.
func compare(s *stage) error {
	b := &bench{stage: s}
	began := time.Now()
	b.prepare()
	if len(b.variants) == 0 {
		s.Fatalf("nothing is to be measured")
	}
	r := &results{began: began, plan: s.plan, samples: map[string][]sample{}}
	for _, v := range b.variants {
		r.variants = append(r.variants, *v)
	}
	for round := range s.plan.rounds {
		r.commits = append(r.commits, b.commitTime(s))
		for _, connections := range s.plan.connections {
			for i := range b.variants {
				v := b.variants[(i+round)%len(b.variants)]
				if v.job == nil {
					continue
				}
				m := b.measure(v, connections, round)
				r.samples[v.name] = append(r.samples[v.name], m)
				s.say("round %d/%d  %s\n", round+1, s.plan.rounds, m.line(v.name))
			}
		}
	}
	if b.queue != nil {
		r.samples["drain"] = b.queue.drains
	}
	b.finish(r)
	return r.publish(s)
}

// finish measures what is measured once, at the end.
func (b *bench) finish(r *results) {
	r.facts = b.facts()
	if b.first == nil {
		return
	}
	r.idle = b.first.idle
	r.exported = b.traces()
	if b.plan.only.has("size") {
		b.end(b.first, b.second)
		if b.queue != nil {
			b.end(b.queue.sidecar)
		}
		r.size = b.measureSize(b.program, b.collectorAddress)
	}
}

func (b *bench) end(all ...*sidecar) {
	for _, r := range all {
		if r != nil {
			r.end()
		}
	}
}

// median of a copy; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

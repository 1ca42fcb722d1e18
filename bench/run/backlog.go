package main

import (
	"fmt"
	"time"
)

const (
	shortQueue       = 20_000 // events of the other integration's short queue: enough for it to be worked off beside
	checkpointRounds = 5
)

// contest compares a situation with that of the short queue, both measured in turn.
type contest struct {
	what     string // the sample's name after the situation's
	title    string
	with, to *situation
	measure  func(x *situation, round int) sample
}

// backlog compares what an event costs, and how long it waits for the worker, with a short queue, with one of a million, and
// where a long transaction keeps old versions of rows from being cleaned up.
func backlog(s *stage) error {
	b := &bench{stage: s, services: s.startShared()}
	began := time.Now()
	b.collectorAddress, _ = b.collector()
	b.program = b.buildShipped()
	short, million, behind := b.situation("short"), b.situation("million"), b.situation("behind")
	short.prefillQueue(shortQueue)
	million.prefillQueue(s.plan.backlog)
	r := &backlogResults{results: &results{began: began, plan: s.plan, samples: map[string][]sample{}}}
	r.queued = [2]int64{million.queued()}
	for round := range s.plan.rounds {
		r.fight(round, r.queues(million, short))
	}
	r.queued[1] = million.queued()
	r.behind(behind, short)
	return r.publish(short)
}

// backlogResults is what was found, and in what order it is told.
type backlogResults struct {
	*results
	contests []contest
	queued   [2]int64 // of the queue of a million: before and after
	dead     int64    // versions behind the transaction, at its end
	events   uint64   // behind the transaction, in all
	lasted   time.Duration
}

// queues are the contests of lengths. The short queue at full speed is that of the integration itself: it is as long as what
// is worked off.
func (r *backlogResults) queues(million, short *situation) []contest {
	many := fmt.Sprint(r.plan.backlog)
	return []contest{
		{"steady", "in front of " + many + " of another integration, held", million, short, (*situation).steady},
		{"beside", "in front of " + many + " of another integration, worked off beside", million, short, (*situation).beside},
		{"burst", "in front of " + many + " of another integration, held", million, short, (*situation).burst},
		{"own", "from a queue of " + many, million, short, func(x *situation, round int) sample {
			if x == short {
				return x.burst(round)
			}
			return x.burstOfOther(round)
		}},
	}
}

// fight measures each contest once, the two of it in turn; who is first changes from round to round.
func (r *backlogResults) fight(round int, contests []contest) {
	for _, c := range contests {
		pair := []*situation{c.to, c.with}
		for i := range pair {
			x := pair[(i+round)%2]
			m := c.measure(x, round)
			name := x.name + " " + c.what
			r.samples[name] = append(r.samples[name], m)
			x.say("%s round %d  %s  pick-up p50 %.1f, p99 %.1f, most %.1f ms (%d)\n", time.Now().UTC().Format("15:04:05"), round+1, m.line(name),
				m.waits.p50, m.waits.p99, m.waits.most, m.waits.count)
		}
	}
	if round == 0 {
		r.contests = append(r.contests, contests...)
	}
}

// behind measures before a long transaction, at its beginning, in its middle and at its end, under load all the time.
func (r *backlogResults) behind(behind, short *situation) {
	checkpoint := func(what, title string) {
		contests := []contest{
			{what + " steady", title, behind, short, (*situation).steady},
			{what + " burst", title, behind, short, (*situation).burst},
		}
		for round := range checkpointRounds {
			r.fight(round, contests)
		}
	}
	checkpoint("before", "before the transaction")
	end := behind.longTransaction()
	began, before := time.Now(), behind.queue.accepted
	since := func() string { return fmt.Sprintf("%.0f minutes behind it", time.Since(began).Minutes()) }
	checkpoint("start", "the transaction has begun")
	behind.busy(began.Add(r.plan.behind / 2))
	checkpoint("middle", since())
	behind.busy(began.Add(r.plan.behind))
	checkpoint("end", since())
	r.dead, r.events, r.lasted = behind.deadVersions(), behind.queue.accepted-before, time.Since(began)
	end()
}

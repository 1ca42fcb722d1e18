package main

import (
	"os"
	"runtime"
	"time"
)

// sample is one measurement.
type sample struct {
	round, connections int
	outcome
	proxy, ledger, redis float64 // µs of CPU per answer
	others               float64 // share of the machine's CPU time that nothing of this run used
	memory               memory  // of the proxy, at the end
	waits                waits   // for the worker, where that was measured
	note                 string
}

// measure runs a variant once.
func (b *bench) measure(v *variant, connections, round int) sample {
	if v.before != nil {
		v.before(connections)
	}
	b.pause(settleTime)
	m := sample{round: round, connections: connections}
	j := v.job(connections)
	var accounts [2]account
	m.outcome, accounts = b.load(b.generator, j, b.atBegin, func() {
		if v.pid != 0 {
			m.memory, _ = readMemory(v.pid) // the process may just have ended: the answers tell
		}
		if b.atEnd != nil {
			b.atEnd()
		}
	})
	m.use(b, v, accounts)
	if v.after != nil {
		m.note = v.after(j, m.outcome)
	}
	if m.Failed > 0 {
		b.say("! %s, %d connections: %d of %d failed: %s\n", v.name, connections, m.Failed, m.Answers, m.Example)
	}
	return m
}

// use shares the CPU time of the window out to the answers in it.
func (m *sample) use(b *bench, v *variant, accounts [2]account) {
	used := func(pid int) time.Duration {
		if pid == 0 {
			return 0
		}
		return accounts[1].family(pid) - accounts[0].family(pid)
	}
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / max(1, float64(m.Answers)) }
	ledger, redis := used(b.postgresPID), used(b.redisPID)
	m.proxy, m.ledger, m.redis = per(used(v.pid)), per(ledger), per(redis)
	busy := accounts[1].busy - accounts[0].busy
	window := accounts[1].at.Sub(accounts[0].at) * time.Duration(runtime.NumCPU())
	// Everything of the run descends from this process.
	m.others = max(0, float64(busy-used(os.Getpid()))/max(1, float64(window)))
}

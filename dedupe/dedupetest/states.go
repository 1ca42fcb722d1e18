package dedupetest

import "github.com/webhook-sidecar/webhook-sidecar/dedupe"

// situation is a way to bring an event into a state, and what a duplicate of it is told then.
type situation struct {
	name  string
	state dedupe.State
	enter func(b *bench, r dedupe.Request)
	kind  dedupe.Kind // of the next identical delivery
}

// situations are all states, some by several ways.
func situations() []situation {
	run := func(b *bench, r dedupe.Request, s dedupe.Settlement) { b.settle(b.a, b.claim(b.a, r).Claim, s) }
	return []situation{
		{"claimed", dedupe.Claimed, func(b *bench, r dedupe.Request) { b.claim(b.a, r) }, dedupe.InFlight},
		{"claimed, expired", dedupe.Claimed, func(b *bench, r dedupe.Request) { b.claim(b.a, r); b.expire(r) }, dedupe.Fresh},
		{"retryable", dedupe.Retryable, func(b *bench, r dedupe.Request) { run(b, r, notFinal()) }, dedupe.Fresh},
		{"retryable, swept", dedupe.Retryable, func(b *bench, r dedupe.Request) { b.claim(b.a, r); b.expire(r); b.sweep() }, dedupe.Fresh},
		{"retryable, reopened", dedupe.Retryable, func(b *bench, r dedupe.Request) {
			run(b, r, applied("one"))
			b.act(b.a.Reopen(b.ctx, r.Scope, r.EventID, operator))
		}, dedupe.Fresh},
		{"queued", dedupe.Queued, func(b *bench, r dedupe.Request) { run(b, r, queued(job("q"))) }, dedupe.AlreadyQueued},
		{"applied", dedupe.Applied, func(b *bench, r dedupe.Request) { run(b, r, applied("one")) }, dedupe.Replay},
		{"dead", dedupe.Dead, func(b *bench, r dedupe.Request) { run(b, r, dead(nil)) }, dedupe.DeadLetter},
		{"dead, with its request", dedupe.Dead, func(b *bench, r dedupe.Request) { run(b, r, dead(job("d"))) }, dedupe.DeadLetter},
		{"closed", dedupe.Closed, func(b *bench, r dedupe.Request) {
			run(b, r, dead(nil))
			b.act(b.a.Close(b.ctx, r.Scope, r.EventID, 202, operator))
		}, dedupe.Ended},
	}
}

// act expects an operator's act to work.
func (b *bench) act(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("act: %v", err)
	}
}

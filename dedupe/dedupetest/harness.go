package dedupetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"pgregory.net/rapid"
)

// Harness is what a test needs of a store. Each one opened is empty, and closed by the test's cleanup.
type Harness struct {
	Store dedupe.Backend
	// Other is the same ledger through another process's handle; nil: the store serves one process only.
	Other dedupe.Backend
	// Age moves every time that is stored with a row, and with its job, into the past.
	Age func(key dedupe.Key, by time.Duration) error
	// Audit is the store's evidence; nil: it is not tested.
	Audit Audit
	// Intruder changes the store behind the ledger's back; nil: nobody does.
	Intruder *Intruder
	// Wrap decorates a ledger; nil: it is tested bare. Called once per replica.
	Wrap func(dedupe.Ledger) dedupe.Ledger
}

const (
	lease   = time.Minute
	grace   = 10 * time.Second
	patient = 20 * time.Second // a deadline for what should take milliseconds
)

// replica is one process: its ledger, and its desk.
type replica struct {
	dedupe.Ledger
	dedupe.Desk
	worker *dedupe.Keeper
}

// bench is a test with one ledger and two replicas of the process that uses it.
type bench struct {
	rapid.TB
	ctx    context.Context
	h      Harness
	policy dedupe.Policy // of every scope, for the sweeper; claims bring their own
	a, b   replica
}

func newBench(t *testing.T, h Harness) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*patient)
	t.Cleanup(cancel)
	b := &bench{TB: t, ctx: ctx, h: h, policy: policy()}
	if h.Other == nil {
		h.Other = h.Store
	}
	b.a, b.b = b.replica("a", h.Store, false), b.replica("b", h.Other, false)
	return b
}

// replica starts one more process over a store.
func (b *bench) replica(name string, store dedupe.Backend, worker bool) replica {
	b.Helper()
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{
		Store: store, Replica: name, Grace: grace, SweepBatch: 50, Worker: worker,
		Policy: func(delivery.Scope) (dedupe.Policy, bool) { return b.policy, true },
	})
	if err != nil {
		b.Fatal(err)
	}
	r := replica{Ledger: keeper, Desk: keeper, worker: keeper}
	if b.h.Wrap != nil {
		r.Ledger = b.h.Wrap(keeper)
	}
	return r
}

// policy is forward mode as it is by default.
func policy() dedupe.Policy {
	return dedupe.Policy{
		Lease:     lease,
		Record:    dedupe.Record{Headers: []string{"Content-Type", "Location"}, MaxBody: 4 << 10},
		Retention: dedupe.Retention{Receipt: 7 * 24 * time.Hour, DeadLetter: 30 * 24 * time.Hour},
	}
}

// event is a delivery's request for a claim, its bytes at hand; each name has a fingerprint of its own.
func event(id string) dedupe.Request {
	return dedupe.Request{
		Scope: "acme/payments", EventID: delivery.EventID(id), Fingerprint: delivery.HashParts([]byte(id)),
		CredentialID: "key-1", EventType: "order.created", Object: "order-7", Trace: "00-trace-of-" + id, Policy: policy(),
		Job: hand(job(id)),
	}
}

// bound is a delivery whose ID is not signed.
func bound(id, content string) dedupe.Request {
	r := event(id)
	r.Fingerprint = delivery.HashParts([]byte(content))
	r.Binding = delivery.HashParts([]byte("binding"), []byte(content))
	return r
}

func keyOf(r dedupe.Request) dedupe.Key { return dedupe.Key{Scope: r.Scope, EventID: r.EventID} }

// manyRounds is how often a race is run.
func manyRounds(most int) int {
	if testing.Short() {
		return max(1, most/10)
	}
	return most
}

func name(parts ...any) string { return fmt.Sprint(parts...) }

package rediscache

import (
	"context"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func reopen(t testing.TB, c *Cache, desk dedupe.Desk, id string) {
	t.Helper()
	by := dedupe.Act{Actor: "ana", Reason: "restored"}
	if err := c.Desk(desk).Reopen(context.Background(), "acme/orders", request(id, "").EventID, by); err != nil {
		t.Fatalf("reopen: %v", err)
	}
}

// command is the cache of a command that a person runs: nothing works in the background.
func command(t testing.TB, ledger dedupe.Ledger, address string) *Cache {
	t.Helper()
	c, err := New(Config{Ledger: ledger, Namespace: "shop", URL: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestReopenIsFollowedEverywhere(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	first, second, third := connected(t, ledger, server), connected(t, ledger, server), connected(t, ledger, server)
	apply(t, first, request("evt_1", "a"), answer(200, "done"))
	eventually(t, "the result reaches Redis", func() bool { return first.Stats().Stored == 1 })
	replays(t, second, request("evt_1", "a"), Shared, answer(200, "done"))
	reopen(t, patient(command(t, ledger, server)), ledger, "evt_1")

	replays(t, second, request("evt_1", "a"), Local, answer(200, "done")) // within 30 s
	second.clock.forward(localLife)
	d := claim(t, second, request("evt_1", "a"))
	if d.Kind != dedupe.Fresh || d.Claim.Attempt != 2 {
		t.Fatalf("%+v, want a fresh second attempt", d)
	}
	if d := claim(t, third, request("evt_1", "a")); d.Kind != dedupe.InFlight {
		t.Fatalf("%+v, want the second attempt in flight", d)
	}
	settle(t, second, request("evt_1", "a"), d.Claim, answer(200, "done again"))
	replays(t, third, request("evt_1", "a"), Ledger, answer(200, "done again"))
}

// A replica has read the old result from the ledger, is held up, and writes it when the event has been reopened.
func TestOldResultIsNotWrittenAfterReopen(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
	slow, other := connected(t, ledger, server), connected(t, ledger, server)
	ledger.during = func() {
		ledger.during = nil
		reopen(t, patient(command(t, ledger, server)), ledger, "evt_1")
	}
	replays(t, slow, request("evt_1", "a"), Ledger, answer(200, "done"))
	eventually(t, "the old result is sent to Redis", func() bool { return slow.Stats().Stored == 1 })
	if d := claim(t, other, request("evt_1", "a")); d.Kind != dedupe.Fresh || d.Claim.Attempt != 2 {
		t.Fatalf("%+v, want a fresh second attempt", d)
	}
	slow.clock.forward(localLife)
	if d := claim(t, slow, request("evt_1", "a")); d.Kind != dedupe.InFlight {
		t.Fatalf("%+v, want the second attempt in flight", d)
	}
}

// The same between the mark and the ledger's commit, where the old result is still true.
func TestResultConfirmedDuringReopenIsNotWritten(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
	between, other := connected(t, ledger, server), connected(t, ledger, server)
	desk := &interrupted{Desk: ledger, before: func() {
		replays(t, between, request("evt_1", "a"), Ledger, answer(200, "done"))
		eventually(t, "the old result is sent to Redis", func() bool { return between.Stats().Stored == 1 })
	}}
	reopen(t, patient(command(t, ledger, server)), desk, "evt_1")
	if d := claim(t, other, request("evt_1", "a")); d.Kind != dedupe.Fresh {
		t.Fatalf("%+v, want a fresh second attempt", d)
	}
}

// A write that waited longer than the mark surely lives is not made at all.
func TestWritesThatWaitedTooLongAreDropped(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
	c := connected(t, ledger, server)
	ledger.during = func() { c.clock.forward(maxQueued) }
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
	eventually(t, "the write is dropped", func() bool { return c.Stats().Dropped == 1 })
	if s := c.Stats(); s.Stored != 0 {
		t.Errorf("it was written: %+v", s)
	}
}

// interrupted is a desk at which something happens before the ledger reopens.
type interrupted struct {
	dedupe.Desk
	before func()
}

func (i *interrupted) Reopen(ctx context.Context, scope delivery.Scope, id delivery.EventID, by dedupe.Act) error {
	i.before()
	return i.Desk.Reopen(ctx, scope, id, by)
}

func TestMarkLivesTwoMinutes(t *testing.T) {
	server, ledger := testenv.Redis(t), newLedger(t)
	inRedis(t, ledger, server, request("evt_1", "a"), answer(200, "done"))
	reopen(t, patient(command(t, ledger, server)), ledger, "evt_1")
	db := person(t, server)
	if life := db.PTTL(context.Background(), onlyKey(t, db)).Val(); life < markLife-time.Minute || life > markLife {
		t.Errorf("the mark lives %v", life)
	}
}

// A person can reopen without Redis, quickly, and is told.
func TestReopenWithoutRedis(t *testing.T) {
	for name, disturb := range map[string]func(*testenv.RedisServer){
		"killed": (*testenv.RedisServer).Stop, "silent": (*testenv.RedisServer).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			ledger, server := newLedger(t), testenv.NewRedis(t)
			apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
			disturb(server)
			c := command(t, ledger, server.URL())
			began := time.Now()
			reopen(t, c, ledger, "evt_1")
			if took := time.Since(began); took > 10*time.Second || c.Stats().Unmarked != 1 {
				t.Errorf("it took %v: %+v", took, c.Stats())
			}
			if d := claim(t, c, request("evt_1", "a")); d.Kind != dedupe.Fresh {
				t.Errorf("%+v, want a fresh second attempt", d)
			}
		})
	}
}

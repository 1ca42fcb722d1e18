package rediscache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func TestResultIsReplayedWithoutTheLedger(t *testing.T) {
	noLeaks(t)
	ledger := newLedger(t)
	c := start(t, ledger, "")
	apply(t, c, request("evt_1", "a"), answer(200, "done"))
	asked := ledger.claims.Load()
	replays(t, c, request("evt_1", "a"), Local, answer(200, "done"))
	if ledger.claims.Load() != asked {
		t.Error("the ledger was asked")
	}
}

// What the cache says is what the ledger would have said, in every field but the age and the time left.
func TestAnswersLikeTheLedger(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	apply(t, c, request("evt_1", "a"), answer(503, "later"))
	apply(t, c, request("evt_1", "a"), answer(201, "done"))
	apply(t, c, request("evt_2", "a"), answer(204, ""))
	for _, r := range []dedupe.Request{request("evt_1", "a"), request("evt_1", "b"), request("evt_2", "a")} {
		got, want := claim(t, c, r), claim(t, ledger, r)
		if got.Age < 0 || (got.Age-want.Age).Abs() > time.Minute {
			t.Errorf("%s: age %v, the ledger's is %v", r.EventID, got.Age, want.Age)
		}
		if got.Left <= 0 || got.Left > want.Left {
			t.Errorf("%s: for %v, in the ledger for %v", r.EventID, got.Left, want.Left)
		}
		got.Age, got.Left = want.Age, want.Left
		if !reflect.DeepEqual(normal(got), normal(want)) {
			t.Errorf("%s: %+v, the ledger says %+v", r.EventID, got, want)
		}
		looked, err := c.Look(context.Background(), r)
		if err != nil || looked.Kind != want.Kind {
			t.Errorf("%s: Look says %+v, %v", r.EventID, looked, err)
		}
	}
	if s := c.Stats(); s.Local != 6 {
		t.Errorf("not answered from memory: %+v", s)
	}
}

// normal makes nil and empty parts of a response alike.
func normal(d dedupe.Decision) string {
	text := fmt.Sprintf("%+v", *d.Response)
	d.Response = nil
	return fmt.Sprintf("%+v ", d) + strings.ReplaceAll(text, "[]", "")
}

func TestOnlyFinishedEventsAreRemembered(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	dead := request("dead", "a")
	dead.Policy.InDoubt = dedupe.Quarantine
	apply(t, c, dead, delivery.Result{Outcome: delivery.Unknown})
	apply(t, c, request("retryable", "a"), answer(503, ""))
	claim(t, c, request("running", "a"))
	queued := request("queued", "a")
	queued.Accept, queued.Job = true, func() *dedupe.Job { return &dedupe.Job{Method: "POST"} }
	claim(t, c, queued)
	want := map[string]dedupe.Kind{
		"dead": dedupe.DeadLetter, "running": dedupe.InFlight, "queued": dedupe.AlreadyQueued, "retryable": dedupe.Fresh,
	}
	for id, kind := range want {
		asked := ledger.claims.Load()
		if d := claim(t, c, request(id, "a")); d.Kind != kind || ledger.claims.Load() != asked+1 {
			t.Errorf("%s: kind %d, want %d from the ledger", id, d.Kind, kind)
		}
	}
	if s := c.Stats(); s.Entries != 0 {
		t.Errorf("something is remembered: %+v", s)
	}
}

func TestOtherContentUnderASignedIDIsAConflict(t *testing.T) {
	c := start(t, newLedger(t), "")
	apply(t, c, request("evt_1", "a"), answer(200, "done"))
	d := claim(t, c, request("evt_1", "b"))
	if d.Kind != dedupe.Conflict || d.Response == nil || string(d.Response.Body) != "done" || c.Stats().Local != 1 {
		t.Errorf("%+v, want a conflict with the result, from memory", d)
	}
}

// A delivery with an unsigned ID is answered from memory only if ID and content are those of the receipt, and its ID is as
// little signed.
func TestUnsignedIDsThatDoNotMatchGoToTheLedger(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	unsigned := func(id, body string) dedupe.Request {
		r := request(id, body)
		r.Binding = delivery.HashParts([]byte(body))
		return r
	}
	apply(t, c, unsigned("evt_1", "a"), answer(200, "done"))
	replays(t, c, unsigned("evt_1", "a"), Local, answer(200, "done"))
	apply(t, c, request("evt_2", "b"), answer(200, "done"))
	for name, r := range map[string]dedupe.Request{
		"a fresh ID": unsigned("evt_9", "a"), "other content": unsigned("evt_1", "c"), "signed now": request("evt_1", "a"),
		"unsigned now": unsigned("evt_2", "b"),
	} {
		asked := ledger.claims.Load()
		got, want := claim(t, c, r), claim(t, ledger.Keeper, r)
		if ledger.claims.Load() != asked+1 || got.Kind != want.Kind {
			t.Errorf("%s: kind %d, the ledger says %d", name, got.Kind, want.Kind)
		}
	}
}

func TestLocalMemoryLastsThirtySeconds(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	apply(t, c, request("evt_1", "a"), answer(200, "done"))
	c.clock.forward(localLife - time.Second)
	replays(t, c, request("evt_1", "a"), Local, answer(200, "done"))
	c.clock.forward(time.Second) // a hit does not prolong it
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
	c.clock.forward(localLife - time.Second) // but the ledger's word does
	replays(t, c, request("evt_1", "a"), Local, answer(200, "done"))
}

// The half minute counts from before the ledger was asked: its answer may be old when it arrives.
func TestSlowAnswerOfTheLedgerIsOldWhenItArrives(t *testing.T) {
	ledger := newLedger(t)
	apply(t, ledger, request("evt_1", "a"), answer(200, "done"))
	c := start(t, ledger, "")
	ledger.during = func() { c.clock.forward(localLife) }
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
	replays(t, c, request("evt_1", "a"), Ledger, answer(200, "done"))
}

func TestLedgerDownAnswersWhatIsRemembered(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	apply(t, c, request("evt_1", "a"), answer(200, "done"))
	ledger.down.Store(true)
	replays(t, c, request("evt_1", "a"), Local, answer(200, "done"))
	if _, err := c.Claim(context.Background(), request("evt_2", "a")); !errors.Is(err, errDown) {
		t.Errorf("a new event: %v, want the ledger's error", err)
	}
	if _, err := c.Look(context.Background(), request("evt_2", "a")); !errors.Is(err, errDown) {
		t.Errorf("Look at a new event: %v, want the ledger's error", err)
	}
}

func TestSettleOfUnknownOutcomeIsCachedOnceItIsKnown(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	r := request("evt_1", "a")
	d := claim(t, c, r)
	s := r.Policy.Settle(d.Claim, answer(200, "done"), 0, nil)
	ledger.down.Store(true)
	if err := c.Settle(context.Background(), d.Claim, s); !errors.Is(err, errDown) {
		t.Fatalf("settle: %v, want the ledger's error", err)
	}
	if c.Stats().Entries != 0 {
		t.Error("a result that may not be recorded is remembered")
	}
	ledger.down.Store(false)
	if err := c.Settle(context.Background(), d.Claim, s); err != nil {
		t.Fatal(err)
	}
	replays(t, c, r, Local, answer(200, "done"))
}

func TestLostClaimIsNotCached(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	r := request("evt_1", "a")
	d := claim(t, c, r)
	settle(t, ledger, r, d.Claim, answer(503, "")) // somebody else decided
	s := r.Policy.Settle(d.Claim, answer(200, "done"), 0, nil)
	if err := c.Settle(context.Background(), d.Claim, s); !errors.Is(err, dedupe.ErrClaimLost) {
		t.Fatalf("settle: %v, want a lost claim", err)
	}
	if c.Stats().Entries != 0 || len(c.pending.claims) != 0 {
		t.Error("the lost claim's result is remembered")
	}
}

func TestReopenedEventRunsAgain(t *testing.T) {
	ledger := newLedger(t)
	c := start(t, ledger, "")
	apply(t, c, request("evt_1", "a"), answer(200, "done"))
	if err := c.Desk(ledger).Reopen(context.Background(), "acme/orders", "evt_1", dedupe.Act{Actor: "ana"}); err != nil {
		t.Fatal(err)
	}
	d := claim(t, c, request("evt_1", "a"))
	if d.Kind != dedupe.Fresh || d.Claim.Attempt != 2 {
		t.Fatalf("%+v, want a fresh second attempt", d)
	}
	settle(t, c, request("evt_1", "a"), d.Claim, answer(200, "done again"))
	replays(t, c, request("evt_1", "a"), Local, answer(200, "done again"))
}

func TestReopenTellsTheLedgersErrors(t *testing.T) {
	ledger := newLedger(t)
	desk := start(t, ledger, "").Desk(ledger)
	claim(t, ledger, request("evt_1", "a"))
	for id, want := range map[delivery.EventID]error{"evt_0": dedupe.ErrNotFound, "evt_1": dedupe.ErrState} {
		if err := desk.Reopen(context.Background(), "acme/orders", id, dedupe.Act{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
}

func TestPendingClaimsAreBounded(t *testing.T) {
	p := newPending()
	now := time.Now()
	token := func(i int) dedupe.Token { return dedupe.Token{byte(i), byte(i >> 8)} }
	for i := range maxPending + 100 {
		p.add(token(i), running{until: now.Add(time.Minute)}, now)
	}
	if len(p.claims) != maxPending {
		t.Errorf("%d claims are remembered, want %d", len(p.claims), maxPending)
	}
	later := now.Add(2 * time.Minute)
	p.add(token(maxPending+100), running{until: later.Add(time.Minute)}, later)
	if _, found := p.take(token(maxPending + 100)); !found || len(p.claims) != 0 {
		t.Errorf("%d claims whose lease is over are left", len(p.claims))
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	ledger := newLedger(t)
	for name, config := range map[string]Config{
		"no ledger": {Namespace: "a"}, "no namespace": {Ledger: ledger}, "namespace": {Ledger: ledger, Namespace: "a:b"},
		"negative": {Ledger: ledger, Namespace: "a", Entries: -1}, "URL": {Ledger: ledger, Namespace: "a", URL: "http://h"},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

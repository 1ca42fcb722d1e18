package rediscache

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// unpaid lets new events come by until the cache asks Redis no more.
func unpaid(t testing.TB, c *replica) {
	t.Helper()
	for i := 0; c.worth.asking(); i++ {
		if i == 2000 {
			t.Fatal("Redis is asked about each of 2000 new events")
		}
		claim(t, c, request(fmt.Sprint("new_", i), "a"))
	}
}

// Where nothing is a duplicate, Redis is not asked; when duplicates come, it is asked again after a few.
func TestRedisIsAskedWhereItPays(t *testing.T) {
	server, ledger := testenv.NewRedis(t), newLedger(t)
	result := answer(200, "done")
	for i := range 64 {
		inRedis(t, ledger, server.URL(), request(fmt.Sprint("known_", i), "a"), result)
	}
	c := connected(t, ledger, server.URL())
	unpaid(t, c)
	replays(t, c, request("known_0", "a"), Ledger, result)
	byLedger := 1
	for ; !c.worth.asking(); byLedger++ {
		replays(t, c, request(fmt.Sprint("known_", byLedger), "a"), Ledger, result)
	}
	if byLedger > 16 {
		t.Errorf("the ledger found %d duplicates before Redis was asked again", byLedger)
	}
	for i := byLedger; i < 64; i++ {
		replays(t, c, request(fmt.Sprint("known_", i), "a"), Shared, result)
	}
}

// A ledger that fails makes Redis worth asking: at once after the failure, and first from then on, until it answers.
func TestRedisIsAskedWhenTheLedgerFails(t *testing.T) {
	server, ledger := testenv.NewRedis(t), newLedger(t)
	result := answer(200, "done")
	for i := range 2 {
		inRedis(t, ledger, server.URL(), request(fmt.Sprint("known_", i), "a"), result)
	}
	c := connected(t, ledger, server.URL())
	unpaid(t, c)
	ledger.down.Store(true)
	asked := ledger.claims.Load()
	replays(t, c, request("known_0", "a"), Shared, result)
	replays(t, c, request("known_1", "a"), Shared, result)
	if got := ledger.claims.Load() - asked; got != 1 {
		t.Errorf("the ledger that is down was asked %d times, want once", got)
	}
	if _, err := c.Claim(t.Context(), request("stranger", "a")); err == nil {
		t.Error("an event that nobody knows was decided without the ledger")
	}
	ledger.down.Store(false)
	claim(t, c, request("stranger", "a"))
	if c.worth.failing.Load() {
		t.Error("the ledger still counts as failing although it answers")
	}
}

// refusing is a ledger that fails as it is told.
type refusing struct {
	*watched
	err error
}

func (r *refusing) Claim(ctx context.Context, request dedupe.Request) (dedupe.Decision, error) {
	if r.err != nil {
		return dedupe.Decision{}, r.err
	}
	return r.watched.Claim(ctx, request)
}

// Whatever is estimated, every delivery gets the same answer: only who is asked first differs.
func TestTheEstimateChangesNoAnswer(t *testing.T) {
	server := testenv.Redis(t)
	sealed := &dedupe.SealedError{Key: dedupe.Key{Scope: "acme/orders", EventID: "known"}, Damaged: true}
	for name, err := range map[string]error{
		"a ledger that answers": nil, "out of reach": errDown, "silent": context.DeadlineExceeded, "a row that cannot be opened": fmt.Errorf("claim: %w", sealed),
	} {
		for _, later := range []time.Duration{0, trust + time.Minute} {
			for _, event := range []dedupe.Request{request("known", "a"), request("known", "b"), request("new", "a")} {
				var answers []string
				for _, share := range []int32{surely, 0} {
					ledger := newLedger(t)
					if err := person(t, server).FlushAll(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					inRedis(t, ledger, server, request("known", "a"), answer(200, "done"))
					c := connected(t, &refusing{ledger, err}, server)
					c.clock.forward(later)
					c.worth.share.Store(share)
					d, err := c.Claim(t.Context(), event)
					got := fmt.Sprint(d.Kind, d.State, d.Attempt, err)
					if d.Response != nil {
						got += fmt.Sprint(*d.Response)
					}
					answers = append(answers, got)
					c.stop()
				}
				if answers[0] != answers[1] {
					t.Errorf("%s, %s later, %s: %s or %s", name, later, event.EventID, answers[0], answers[1])
				}
			}
		}
	}
}

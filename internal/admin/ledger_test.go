package admin_test

import (
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// openLedger is a real ledger that ends with the test.
func openLedger(t *testing.T) *dedupe.Keeper {
	t.Helper()
	store, err := sqlite.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: store, Replica: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

// settle brings an event into a state.
func settle(t *testing.T, keeper *dedupe.Keeper, id delivery.EventID, to dedupe.State) {
	t.Helper()
	decision, err := keeper.Claim(t.Context(), dedupe.Request{
		Scope: "acme/orders", EventID: id, CredentialID: "key-1", EventType: "order.paid",
		Policy: dedupe.Policy{Lease: time.Minute},
	})
	if err != nil || decision.Kind != dedupe.Fresh {
		t.Fatalf("claim: %+v, %v", decision, err)
	}
	settlement := dedupe.Settlement{To: to, Counts: true}
	if to == dedupe.Applied {
		settlement.Response = &delivery.Response{Status: 201, Header: map[string][]string{}, Body: []byte("made")}
	} else {
		settlement.Reason = dedupe.Quarantined
	}
	if err := keeper.Settle(t.Context(), decision.Claim, settlement); err != nil {
		t.Fatalf("settle: %v", err)
	}
}

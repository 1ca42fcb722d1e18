package seal

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// vaultText is everything that a store keeps, as it is stored.
func vaultText(t *testing.T, vault dedupe.Vault) string {
	t.Helper()
	var all strings.Builder
	for _, kind := range []dedupe.VaultKind{dedupe.KeptRequests, dedupe.KeptResults} {
		for cursor := ""; ; {
			page, err := vault.Kept(t.Context(), kind, cursor, 100, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				if j := item.Job; j != nil {
					all.WriteString(j.Method + j.Target + j.Host + string(j.Body))
					for name, values := range j.Header {
						all.WriteString(name + strings.Join(values, ""))
					}
					continue
				}
				all.Write(item.Response.Body)
			}
			if page.Next == "" {
				break
			}
			cursor = page.Next
		}
	}
	return all.String()
}

func TestNothingOfAPayloadIsReadableInTheStore(t *testing.T) {
	inner := embedded(t)
	keeper := keeperOver(t, sealed(t, inner, ringOf(t, "a")))
	apply(t, keeper, "evt_1")
	accept(t, keeper, "evt_2")
	if text := vaultText(t, inner); strings.Contains(text, "canary") || strings.Contains(text, "POST") || len(text) < 2*len(canary) {
		t.Errorf("the store keeps %q", text)
	}
	replays(t, keeper, "evt_1")
	taken, err := keeper.Take(t.Context(), []dedupe.Quota{{Scope: "acme/orders", Most: 9, Policy: policy()}}, 9)
	if err != nil || len(taken.Works) != 1 || !reflect.DeepEqual(taken.Works[0].Job, job("evt_2")) {
		t.Errorf("taken %+v, %v", taken, err)
	}
	// And without sealing, it is.
	plain := embedded(t)
	keeper = keeperOver(t, sealed(t, plain, NewRing(nil)))
	apply(t, keeper, "evt_1")
	accept(t, keeper, "evt_2")
	if text := vaultText(t, plain); strings.Count(text, "canary") < 4 {
		t.Errorf("the store keeps %q", text)
	}
}

// Rows of any seal, and of none, are read side by side; only the one whose key is not there is refused.
func TestRowsOfAllKindsSideBySide(t *testing.T) {
	inner := embedded(t)
	ring := NewRing(nil)
	watch := &refusals{}
	store, err := New(Config{Store: inner, Namespace: "test", Ring: ring, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	keeper := keeperOver(t, store)
	for i, names := range [][]string{nil, {"a"}, {"b", "a"}, {"lost"}, {off, "a"}} {
		if names != nil {
			ring.Use(keysOf(t, names...))
		}
		apply(t, keeper, []string{"plain", "by a", "by b", "lost", "unsealed"}[i])
	}
	ring.Use(keysOf(t, "a", "b"))
	for _, id := range []string{"plain", "by a", "by b", "unsealed"} {
		replays(t, keeper, id)
	}
	for range 2 {
		began := time.Now()
		_, err := keeper.Claim(t.Context(), request("lost"))
		var why *dedupe.SealedError
		if !errors.Is(err, dedupe.ErrSealed) || !errors.As(err, &why) || why.KeyID != keyID(t, "lost") || why.Damaged {
			t.Fatalf("claimed: %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it was tried for %s", took)
		}
		if !strings.Contains(err.Error(), delivery.Reference("acme/orders", "lost")) || !strings.Contains(err.Error(), keyID(t, "lost").String()) {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := keeper.Look(t.Context(), request("lost")); !errors.Is(err, dedupe.ErrSealed) {
		t.Errorf("looked: %v", err)
	}
	if want := "result lost what is kept is sealed with key " + keyID(t, "lost").String() + ", which is not at hand"; watch.seen[want] != 3 || len(watch.seen) != 1 {
		t.Errorf("the watch has seen %v", watch.seen)
	}
	ring.Use(keysOf(t, "a", "b", "lost"))
	replays(t, keeper, "lost")
}

// What needs no recorded body goes on without it.
func TestWhatDoesNotNeedTheResultGoesOn(t *testing.T) {
	ring := ringOf(t, "lost")
	keeper := keeperOver(t, sealed(t, embedded(t), ring))
	apply(t, keeper, "evt_1")
	ring.Use(keysOf(t, "a"))
	other := request("evt_1")
	other.Fingerprint[0]++
	d, err := keeper.Claim(t.Context(), other)
	if err != nil || d.Kind != dedupe.Conflict || d.Response != nil || d.Sealed == nil {
		t.Errorf("a conflict is %+v, %v", d, err)
	}
	receipt, err := keeper.Receipt(t.Context(), "acme/orders", "evt_1")
	if err != nil || receipt.State != dedupe.Applied || receipt.Status != 200 || receipt.Response != nil || receipt.Sealed == nil {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
	list, err := keeper.List(t.Context(), dedupe.Filter{})
	if err != nil || len(list) != 1 || list[0].Sealed == nil {
		t.Errorf("listed %+v, %v", list, err)
	}
	if err := keeper.Reopen(t.Context(), "acme/orders", "evt_1", dedupe.Act{Actor: "ana", Reason: "key lost"}); err != nil {
		t.Error(err)
	}
	apply2 := request("evt_1")
	if d, err := keeper.Claim(t.Context(), apply2); err != nil || d.Kind != dedupe.Fresh || d.Attempt != 2 {
		t.Errorf("reopened: %+v, %v", d, err)
	}
}

// A batch of deliveries of which one cannot be answered answers the others.
func TestOneOfABatchIsRefusedAlone(t *testing.T) {
	ring := ringOf(t, "lost", "a")
	store := sealed(t, remote(t, database(t)), ring)
	keeper := keeperOver(t, store)
	apply(t, keeper, "lost")
	ring.Use(keysOf(t, "a", "lost"))
	apply(t, keeper, "fine")
	ring.Use(keysOf(t, "a"))
	newcomer, lost, fine := newRow("newcomer"), newRow("lost"), newRow("fine")
	found, err := store.Insert(t.Context(), []dedupe.NewRow{fine, lost, newcomer})
	if err != nil || !found[2].Inserted {
		t.Fatalf("inserted %+v, %v", found, err)
	}
	if got := found[0].Row; got.Sealed != nil || string(got.Response.Body) != canary+"fine" {
		t.Errorf("the good one is %+v", got)
	}
	if got := found[1].Row; got.Sealed == nil || got.Response != nil || got.State != dedupe.Applied || got.Status != 200 {
		t.Errorf("the lost one is %+v", got)
	}
}

func newRow(id string) dedupe.NewRow {
	return dedupe.NewRow{
		Key: dedupe.Key{Scope: "acme/orders", EventID: delivery.EventID(id)}, State: dedupe.Claimed, Token: dedupe.Token{1},
		Lease: time.Minute, OnExpiry: dedupe.Retryable,
	}
}

// A worker puts a request that it cannot open back: it does not count, the others go on, and when the key is there, it runs.
func TestAWorkerPutsBackWhatItCannotOpen(t *testing.T) {
	ring := ringOf(t, "lost")
	watch := &refusals{}
	store, err := New(Config{Store: embedded(t), Namespace: "test", Ring: ring, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	keeper := keeperOver(t, store)
	accept(t, keeper, "lost")
	ring.Use(keysOf(t, "a"))
	accept(t, keeper, "fine")
	for range 5 { // more often than there are attempts
		taken := take(t, keeper)
		for _, work := range taken.Works {
			if work.Claim.EventID != "fine" {
				t.Fatalf("taken %+v", work)
			}
			s := work.Policy.Settle(work.Claim, answer("fine"), 0, nil)
			if err := keeper.Settle(t.Context(), work.Claim, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	receipt, err := keeper.Receipt(t.Context(), "acme/orders", "lost")
	if err != nil || receipt.State != dedupe.Queued || receipt.Reason != dedupe.Unsealable || receipt.Attempts != 0 || !receipt.HasJob {
		t.Fatalf("the receipt is %+v, %v", receipt, err)
	}
	if receipt.JobSealed == nil || receipt.JobSealed.KeyID != keyID(t, "lost") {
		t.Errorf("the request's seal is %v", receipt.JobSealed)
	}
	if last := receipt.Evidence[0]; last.Reason != dedupe.Unsealable || last.From != dedupe.Claimed || last.To != dedupe.Queued || last.Actor != "test" {
		t.Errorf("the evidence is %+v", last)
	}
	if fine, err := keeper.Receipt(t.Context(), "acme/orders", "fine"); err != nil || fine.State != dedupe.Applied {
		t.Errorf("the other is %+v, %v", fine, err)
	}
	if len(watch.seen) != 1 {
		t.Errorf("the watch has seen %v", watch.seen)
	}
	if _, err := store.Job(t.Context(), dedupe.Key{Scope: "acme/orders", EventID: "lost"}); !errors.Is(err, dedupe.ErrSealed) {
		t.Errorf("the request is %v", err)
	}
	ring.Use(keysOf(t, "a", "lost"))
	taken := take(t, keeper)
	if len(taken.Works) != 1 || taken.Works[0].Claim.Attempt != 1 || !reflect.DeepEqual(taken.Works[0].Job, job("lost")) {
		t.Errorf("taken %+v", taken)
	}
}

func take(t *testing.T, keeper *dedupe.Keeper) dedupe.Taken {
	t.Helper()
	taken, err := keeper.Take(t.Context(), []dedupe.Quota{{Scope: "acme/orders", Most: 9, Policy: policy()}}, 9)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// Only its age ends an event whose request cannot be opened.
func TestAgeEndsWhatCannotBeOpened(t *testing.T) {
	ring := ringOf(t, "lost")
	keeper := keeperOver(t, sealed(t, embedded(t), ring))
	accept(t, keeper, "lost")
	ring.Use(keysOf(t, "a"))
	short := policy()
	short.Retry.MaxAge = time.Nanosecond
	if _, err := keeper.Take(t.Context(), []dedupe.Quota{{Scope: "acme/orders", Most: 9, Policy: short}}, 9); err != nil {
		t.Fatal(err)
	}
	receipt, err := keeper.Receipt(t.Context(), "acme/orders", "lost")
	if err != nil || receipt.State != dedupe.Dead || receipt.Reason != dedupe.MaxAge || !receipt.HasJob || receipt.JobSealed == nil {
		t.Errorf("the receipt is %+v, %v", receipt, err)
	}
}

// What somebody has moved to another event, or changed, is refused as damaged.
func TestWhatIsMovedOrChangedIsRefused(t *testing.T) {
	inner := embedded(t)
	keeper := keeperOver(t, sealed(t, inner, ringOf(t, "a")))
	for _, id := range []string{"evt_1", "evt_2", "evt_3"} {
		apply(t, keeper, id)
	}
	page, err := inner.Kept(t.Context(), dedupe.KeptResults, "", 9, 1<<20)
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("kept %+v, %v", page, err)
	}
	items := page.Items
	items[0].Response.Body, items[1].Response.Body = items[1].Response.Body, items[0].Response.Body
	items[2].Response.Body[len(items[2].Response.Body)-1] ^= 1
	if made, err := inner.Rewrite(t.Context(), dedupe.KeptResults, items); err != nil || !made[0] {
		t.Fatalf("rewrote %v, %v", made, err)
	}
	for _, item := range items {
		_, err := keeper.Claim(t.Context(), request(string(item.EventID)))
		var why *dedupe.SealedError
		if !errors.As(err, &why) || !why.Damaged || why.KeyID != keyID(t, "a") {
			t.Errorf("%s: %v", item.EventID, err)
		}
	}
	// Another application's ledger has the same event.
	other, err := New(Config{Store: inner, Namespace: "other", Ring: ringOf(t, "a")})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, keeper, "evt_4")
	if _, err := keeperOver(t, other).Claim(context.Background(), request("evt_4")); !errors.Is(err, dedupe.ErrSealed) {
		t.Errorf("another namespace: %v", err)
	}
}

func TestAStoreNeedsItsParts(t *testing.T) {
	for _, c := range []Config{{}, {Store: embedded(t)}, {Store: embedded(t), Namespace: "a"}, {Namespace: "a", Ring: NewRing(nil)}} {
		if _, err := New(c); err == nil {
			t.Errorf("made of %+v", c)
		}
	}
}

package audit_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

const scope delivery.Scope = "acme/orders"

// ledger is an embedded one with some evidence of so many events.
func ledger(t *testing.T, events int) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for i := range events {
		fail(t, store, "evt_"+decimal(int64(i)))
	}
	return store
}

func fail(t *testing.T, store dedupe.Store, id string) {
	t.Helper()
	key := dedupe.Key{Scope: scope, EventID: delivery.EventID(id)}
	row := dedupe.NewRow{Key: key, State: dedupe.Claimed, Lease: time.Minute, OnExpiry: dedupe.Retryable, CredentialID: "key-1"}
	if _, err := store.Insert(t.Context(), []dedupe.NewRow{row}); err != nil {
		t.Fatal(err)
	}
	made, err := store.Move(t.Context(), []dedupe.Move{{
		Key: key, FromState: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.TimedOut, Expires: time.Hour,
		Evidence: &dedupe.Evidence{From: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.TimedOut, CredentialID: "key-1"},
	}})
	if err != nil || !made[0] {
		t.Fatalf("%v, %v", made, err)
	}
}

// broken is a store that fails, or whose caller goes, at a call of this number.
type broken struct {
	*sqlite.Store
	calls, at int
	apply     bool // the call is made before it fails
	cancel    context.CancelFunc
}

var errBroken = errors.New("the connection was lost")

func (b *broken) call() error {
	if b.calls++; b.calls != b.at {
		return nil
	}
	if b.cancel != nil {
		b.cancel()
		return context.Canceled
	}
	return errBroken
}

func (b *broken) Unsealed(ctx context.Context) ([]delivery.Scope, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.Store.Unsealed(ctx)
}

func (b *broken) Ends(ctx context.Context, scope delivery.Scope) (dedupe.Ends, error) {
	if err := b.call(); err != nil {
		return dedupe.Ends{}, err
	}
	return b.Store.Ends(ctx, scope)
}

func (b *broken) Marked(ctx context.Context, scope delivery.Scope, number, after int64, limit int) (dedupe.Sealables, error) {
	if err := b.call(); err != nil {
		return dedupe.Sealables{}, err
	}
	return b.Store.Marked(ctx, scope, number, after, limit)
}

func (b *broken) Seal(ctx context.Context, c dedupe.Checkpoint, rows []int64) (bool, error) {
	failed := b.call()
	if failed != nil && !b.apply {
		return false, failed
	}
	made, err := b.Store.Seal(context.WithoutCancel(ctx), c, rows)
	return made, errors.Join(failed, err)
}

func (b *broken) Retire(ctx context.Context, scope delivery.Scope, below int64, limit int) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.Store.Retire(ctx, scope, below, limit)
}

// A notary that is broken off anywhere, before or after the ledger has done what it was asked for, leaves a ledger in which
// the next one goes on.
func TestANotaryMayEndAnywhere(t *testing.T) {
	for at := 1; at <= 12; at++ {
		for _, apply := range []bool{false, true} {
			for _, leave := range []bool{false, true} {
				store := ledger(t, 5)
				ctx, cancel := context.WithCancel(t.Context())
				b := &broken{Store: store, at: at, apply: apply}
				if leave {
					b.cancel = cancel
				}
				seal(ctx, t, b)
				cancel()
				fail(t, store, "evt_late")
				if err := seal(t.Context(), t, store); err != nil {
					t.Fatal(err)
				}
				if s := clean(t, store); s.Sealed != 6 || s.Unsealed != 0 || s.EndsAt != s.Checkpoints {
					t.Errorf("broken off at call %d (applied %t, left %t): %+v", at, apply, leave, s)
				}
			}
		}
	}
}

// seal makes rounds of two rows until nothing is left, or an error.
func seal(ctx context.Context, t *testing.T, store dedupe.Checkpoints) error {
	t.Helper()
	notary, err := audit.NewNotary(audit.NotaryConfig{Store: store, Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	for {
		sealed, err := notary.Seal(ctx)
		if err != nil || !sealed.More {
			return err
		}
	}
}

// clean expects that an audit of everything finds nothing.
func clean(t *testing.T, source audit.Source) audit.Summary {
	t.Helper()
	auditor, err := audit.NewAuditor(audit.AuditorConfig{Source: source, Found: func(f audit.Finding) { t.Errorf("found %+v", f) }})
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := auditor.Verify(t.Context())
	if err != nil || len(summaries) != 1 {
		t.Fatalf("%+v, %v", summaries, err)
	}
	return summaries[0]
}

// overtaken is a store in which something happens before the second page of a chain is read.
type overtaken struct {
	*sqlite.Store
	pages  int
	happen func()
}

func (o *overtaken) Chain(ctx context.Context, scope delivery.Scope, from int64, limit int) ([]dedupe.Checkpoint, error) {
	if o.pages++; o.pages == 2 {
		o.happen()
	}
	return o.Store.Chain(ctx, scope, from, limit)
}

// What an audit has read, and the rest that it has not, may be retired in the middle: it goes on with the chain of now.
func TestAChainIsRetiredBetweenItsPages(t *testing.T) {
	const events = 202 // two rows a checkpoint, and one more checkpoint than a page has
	store := ledger(t, events)
	if err := seal(t.Context(), t, store); err != nil {
		t.Fatal(err)
	}
	summary := clean(t, &overtaken{Store: store, happen: func() {
		end(t, store, events)
		for _, late := range []string{"evt_late", "evt_later"} {
			if err := seal(t.Context(), t, store); err != nil {
				t.Fatal(err)
			}
			if _, _, err := store.Forget(t.Context(), events); err != nil {
				t.Fatal(err)
			}
			fail(t, store, late)
		}
	}})
	if first := events + 1; summary.BeginsAt != int64(first) || summary.EndsAt != int64(first) || summary.Checkpoints != 101 {
		t.Errorf("an audit sees %+v", summary)
	}
}

// end lets the first events of a ledger be over at once.
func end(t *testing.T, store dedupe.Store, events int) {
	t.Helper()
	moves := make([]dedupe.Move, events)
	for i := range moves {
		moves[i] = dedupe.Move{
			Key: dedupe.Key{Scope: scope, EventID: delivery.EventID("evt_" + decimal(int64(i)))}, FromState: dedupe.Retryable,
			To: dedupe.Applied, Attempt: 1, Status: 200, Expires: time.Microsecond,
			Evidence: &dedupe.Evidence{From: dedupe.Retryable, To: dedupe.Applied, Attempt: 1, Status: 200, CredentialID: "key-1"},
		}
	}
	made, err := store.Move(t.Context(), moves)
	if err != nil || slices.Contains(made, false) {
		t.Fatalf("%v, %v", made, err)
	}
}

// What the ledger has of a scope may be gone altogether: then only an anchor knows.
func TestAnAnchorOfAScopeThatIsGone(t *testing.T) {
	var found []audit.Finding
	auditor, err := audit.NewAuditor(audit.AuditorConfig{
		Source: ledger(t, 1), Found: func(f audit.Finding) { found = append(found, f) },
		Anchors: []audit.Anchor{{Scope: "acme/gone", Number: 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := auditor.Verify(t.Context())
	if err != nil || len(summaries) != 2 || len(found) != 1 || found[0].Kind != audit.AnchorMismatch || found[0].Scope != "acme/gone" {
		t.Errorf("%+v, %v, found %+v", summaries, err, found)
	}
}

// An event that waits, for whatever reason, is applied with evidence or it was not this program.
func TestAWaitingEventIsNotAppliedUnseen(t *testing.T) {
	for _, waits := range []struct {
		to       dedupe.State
		reason   dedupe.Reason
		attempts int // that are left in the receipt
	}{
		{dedupe.Retryable, dedupe.Unreachable, 0}, {dedupe.Queued, dedupe.Unreachable, 0}, {dedupe.Queued, dedupe.Abandoned, 0},
		{dedupe.Retryable, dedupe.NotFinal, 1}, {dedupe.Queued, dedupe.TimedOut, 1},
	} {
		store := ledger(t, 0)
		key := dedupe.Key{Scope: scope, EventID: "evt"}
		if _, err := store.Insert(t.Context(), []dedupe.NewRow{{Key: key, State: dedupe.Claimed, Lease: time.Minute}}); err != nil {
			t.Fatal(err)
		}
		for _, move := range []dedupe.Move{
			{FromState: dedupe.Claimed, To: waits.to, Reason: waits.reason, Attempt: waits.attempts, Evidence: &dedupe.Evidence{
				From: dedupe.Claimed, To: waits.to, Reason: waits.reason, Attempt: 1}},
			{FromState: waits.to, To: dedupe.Applied, Attempt: 1, Status: 200},
		} {
			move.Key = key
			if made, err := store.Move(t.Context(), []dedupe.Move{move}); err != nil || !made[0] {
				t.Fatalf("%v, %v", made, err)
			}
		}
		var found []audit.Finding
		auditor, err := audit.NewAuditor(audit.AuditorConfig{Source: store, Found: func(f audit.Finding) { found = append(found, f) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := auditor.Verify(t.Context()); err != nil || len(found) != 1 || found[0].Kind != audit.StateDisagrees {
			t.Errorf("%s (%s): %v, found %+v", waits.to, waits.reason, err, found)
		}
	}
}

func TestNobodyAuditsNothing(t *testing.T) {
	if _, err := audit.NewAuditor(audit.AuditorConfig{}); err == nil {
		t.Error("an auditor without a source")
	}
	if _, err := audit.NewNotary(audit.NotaryConfig{}); err == nil {
		t.Error("a notary without a store")
	}
}

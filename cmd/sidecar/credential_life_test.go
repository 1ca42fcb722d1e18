package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
)

func TestEveryChangeOfACredentialIsNamed(t *testing.T) {
	const a, r, x, e = dedupe.CredentialActive, dedupe.CredentialRetiring, dedupe.CredentialRevoked, dedupe.CredentialExpired
	name := config.Revocation{Scope: "acme/orders", ID: "k1"}
	for _, c := range []struct {
		was, is credentialState // no status: absent
		want    dedupe.CredentialChange
	}{
		{credentialState{}, credentialState{a, "f1"}, dedupe.CredentialCreated},
		{credentialState{a, "f1"}, credentialState{}, dedupe.CredentialRemoved},
		{credentialState{a, "f1"}, credentialState{a, "f1"}, ""},
		{credentialState{a, "f1"}, credentialState{a, "f2"}, dedupe.CredentialRotated},
		{credentialState{a, "f1"}, credentialState{r, "f2"}, dedupe.CredentialRotated},
		{credentialState{a, "f1"}, credentialState{r, "f1"}, dedupe.CredentialMoved},
		{credentialState{r, "f1"}, credentialState{a, "f1"}, dedupe.CredentialMoved},
		{credentialState{a, "f1"}, credentialState{x, "f1"}, dedupe.CredentialWasRevoked},
		{credentialState{a, "f1"}, credentialState{x, ""}, dedupe.CredentialWasRevoked},
		{credentialState{x, "f1"}, credentialState{x, ""}, ""},
		{credentialState{x, ""}, credentialState{a, "f1"}, dedupe.CredentialBroughtBack},
		{credentialState{a, "f1"}, credentialState{e, "f1"}, dedupe.CredentialHasExpired},
		{credentialState{e, "f1"}, credentialState{a, "f1"}, dedupe.CredentialMoved},
	} {
		before, after := credentialStates{}, credentialStates{}
		if c.was.status != "" {
			before[name] = c.was
		}
		if c.is.status != "" {
			after[name] = c.is
		}
		got := after.since(before)
		if c.want == "" && len(got) != 0 || c.want != "" && (len(got) != 1 || got[0].Change != c.want) {
			t.Errorf("%v to %v: %v, want %q", c.was, c.is, got, c.want)
		}
	}
}

// credentialChanges are what the status tells of the life of credentials, oldest first.
func (p *process) credentialChanges() []string {
	p.r.t.Helper()
	var report statusReport
	_, body := p.admin("/api/v1/status")
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		p.r.t.Fatal(err)
	}
	var changes []string
	for _, e := range report.CredentialEvents {
		if e.Replica == "" || time.Since(e.At) > time.Hour {
			p.r.t.Errorf("nobody saw it: %+v", e)
		}
		changes = append(changes, e.Credential+" "+e.Change)
	}
	slices.Reverse(changes)
	return changes
}

func (p *process) awaitChanges(want ...string) {
	p.r.t.Helper()
	p.eventually("the status to tell of "+strings.Join(want, ", "), func() error {
		if got := p.credentialChanges(); !slices.Equal(got, want) {
			return fmt.Errorf("it tells of %q", got)
		}
		return nil
	})
}

// awaitRecorded waits until the ledger has so many changes, which is a moment after the status tells of them.
func (p *process) awaitRecorded(changes int) {
	p.r.t.Helper()
	p.eventually("the ledger to have all changes", func() error {
		if _, page := p.admin("/api/v1/credentials"); strings.Count(page, `"change":`) != changes {
			return errors.New(page)
		}
		return nil
	})
}

// recordedChanges are what the ledger keeps, oldest first, once nobody else has it.
func (r *rig) recordedChanges() []string {
	r.t.Helper()
	store, err := sqlite.Open(r.t.Context(), r.path("ledger.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	events, err := store.CredentialEvents(r.t.Context(), 100)
	if err = errors.Join(err, store.Close()); err != nil {
		r.t.Fatal(err)
	}
	var changes []string
	for _, e := range events {
		if len(e.Fingerprint) != 12 || e.Replica == "" {
			r.t.Errorf("recorded %+v", e)
		}
		changes = append(changes, e.ID+" "+string(e.Change))
	}
	slices.Reverse(changes)
	return changes
}

func TestTheLifeOfACredentialIsEvidence(t *testing.T) {
	r := newRig(t)
	p := r.run()
	p.awaitChanges("k1 created")
	r.configure(orders("{id: k1, secret: {file: first}, status: retiring}, {id: k2, secret: {file: second}}"))
	p.awaitChanges("k1 created", "k1 changed", "k2 created")
	r.configure(orders("{id: k1, secret: {file: first}, status: revoked}, {id: k2, secret: {file: second}}"))
	p.awaitDelivery(firstKey, "401")
	r.write("second", "another-key-0123456789abcdef01234567\n")
	want := []string{"k1 created", "k1 changed", "k2 created", "k1 revoked", "k2 rotated"}
	p.awaitChanges(want...)
	took := p.awaitConfig(true).Propagation
	if took.Changes != 3 || took.Declared != 200 || took.Last <= 0 || took.Worst < took.Last {
		t.Errorf("propagation %+v", took)
	}
	if _, page := p.admin("/metrics"); !strings.Contains(page, "webhook_config_propagation_bound_seconds 0.2\n") ||
		strings.Contains(page, "webhook_config_propagation_seconds 0\n") {
		t.Error("the metrics do not tell how long changes took")
	}
	p.awaitRecorded(len(want))
	p.stop()
	if got := r.recordedChanges(); !slices.Equal(got, want) {
		t.Errorf("the ledger keeps %q, want %q", got, want)
	}
	if log := p.log.String(); strings.Contains(log, firstKey) || !strings.Contains(log, `"change":"rotated"`) {
		t.Error("the log shows a key, or nothing of the change")
	}
	again := r.run() // the ledger knows it all
	again.stop()
	if got := r.recordedChanges(); !slices.Equal(got, want) {
		t.Errorf("after a restart the ledger keeps %q", got)
	}
}

func TestARevokedCredentialDoesNotComeBack(t *testing.T) {
	live := orders("{id: k1, secret: {file: first}}, {id: k2, secret: {file: second}}")
	r := newRig(t)
	r.configure(live)
	p := r.run()
	r.configure(orders("{id: k1, secret: {file: first}, status: revoked}, {id: k2, secret: {file: second}}"))
	p.awaitDelivery(firstKey, "401")
	r.configure(orders("{id: k2, secret: {file: second}}"))
	p.awaitChanges("k1 created", "k2 created", "k1 revoked", "k1 removed")

	r.configure(live)
	if problems := p.awaitConfig(false).Problems; len(problems) != 1 || !strings.Contains(problems[0], "was revoked and stays revoked") {
		t.Errorf("problems: %q", problems)
	}
	if got := p.deliver("evt-back", firstKey); got != "401" {
		t.Errorf("brought back by a reload: %s", got)
	}
	if status, out := r.command("", "check"); status != exitUsage || !strings.Contains(out, "was revoked and stays revoked") {
		t.Errorf("check beside the running sidecar: exit %d\n%s", status, out)
	}
	want := []string{"k1 created", "k2 created", "k1 revoked", "k1 removed", "k1 brought_back"}
	p.awaitChanges(want...)
	p.awaitRecorded(len(want))
	p.stop()

	again := r.run()
	again.awaitConfig(false)
	again.awaitDelivery(firstKey, "401")
	if got := again.deliver("evt-other", secondKey); got != "200 applied" {
		t.Errorf("the other credential: %s", got)
	}
	r.configure(orders("{id: k3, secret: {file: first}}, {id: k2, secret: {file: second}}"))
	again.awaitConfig(true)
	again.awaitDelivery(firstKey, "200 applied")
}

func TestExpiryIsEvidence(t *testing.T) {
	r := newRig(t)
	until := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	r.configure(orders("{id: k1, secret: {file: first}, not_after: " + until + "}, {id: k2, secret: {file: second}}"))
	p := r.run()
	p.awaitChanges("k1 created", "k2 created")
	var report statusReport
	_, body := p.admin("/api/v1/status")
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		t.Fatal(err)
	}
	if got := report.CredentialEvents[1].Status; got != "expired" {
		t.Errorf("k1 is %s", got)
	}
}

// slowBook is a book whose first page is written by the time its writer is told to stop, and not before.
type slowBook struct {
	dedupe.CredentialBook
	asked   chan struct{}
	written []dedupe.CredentialEvent
}

func (b *slowBook) LastOfCredentials(context.Context) ([]dedupe.CredentialEvent, error) {
	return nil, nil
}

func (b *slowBook) RecordCredentials(ctx context.Context, events []dedupe.CredentialEvent) error {
	if b.asked != nil {
		close(b.asked)
		b.asked = nil
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.written = append(b.written, events...)
	return nil
}

func TestTheLastChangesAreRecordedAtTheEnd(t *testing.T) {
	asked := make(chan struct{})
	book := &slowBook{asked: asked}
	a := &active{log: slog.New(slog.DiscardHandler)}
	a.state.Store(&state{set: &config.Set{}})
	l := newLife(book, "a", a.log, a)
	l.follow(&config.Set{})
	l.broughtBack([]config.Revocation{{Scope: "acme/orders", ID: "k1"}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx) }()
	<-asked
	stop()
	if err := <-ended; err != nil || len(book.written) != 1 || book.written[0].ID != "k1" {
		t.Errorf("%v; written: %+v", err, book.written)
	}
}

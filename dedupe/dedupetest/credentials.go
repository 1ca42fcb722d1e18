package dedupetest

import (
	"slices"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// RunCredentials runs the contract of a CredentialBook against an empty one.
func RunCredentials(t *testing.T, book dedupe.CredentialBook) {
	if got, err := book.CredentialEvents(t.Context(), 10); err != nil || len(got) != 0 {
		t.Fatalf("an empty book: %v, %v", got, err)
	}
	record := func(events ...dedupe.CredentialEvent) {
		t.Helper()
		if err := book.RecordCredentials(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
	record()
	created := credentialEvent("a/b", "k1", dedupe.CredentialCreated, dedupe.CredentialActive)
	other := credentialEvent("a/c", "k1", dedupe.CredentialCreated, dedupe.CredentialActive)
	retiring := credentialEvent("a/b", "k1", dedupe.CredentialMoved, dedupe.CredentialRetiring)
	revoked := credentialEvent("a/b", "k1", dedupe.CredentialWasRevoked, dedupe.CredentialRevoked)
	revoked.Fingerprint = ""
	began := time.Now().Add(-time.Hour)
	record(created, other)
	record(retiring, revoked)

	all, err := book.CredentialEvents(t.Context(), 10)
	wantEvents(t, "all", all, err, began, revoked, retiring, other, created)
	newest, err := book.CredentialEvents(t.Context(), 2)
	wantEvents(t, "the newest", newest, err, began, revoked, retiring)
	last, err := book.LastOfCredentials(t.Context())
	slices.SortFunc(last, func(a, b dedupe.CredentialEvent) int { return slices.Compare([]byte(a.Scope), []byte(b.Scope)) })
	wantEvents(t, "the last of each", last, err, began, revoked, other)
}

func credentialEvent(scope delivery.Scope, id string, change dedupe.CredentialChange, status dedupe.CredentialStatus) dedupe.CredentialEvent {
	return dedupe.CredentialEvent{
		Scope: scope, ID: id, Change: change, Status: status, Fingerprint: "0123456789ab", Replica: "replica-1",
	}
}

// wantEvents compares events but for their times, which must be recent.
func wantEvents(t *testing.T, what string, got []dedupe.CredentialEvent, err error, since time.Time, want ...dedupe.CredentialEvent) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for i := range got {
		if got[i].At.Before(since) {
			t.Errorf("%s: at %s", what, got[i].At)
		}
		got[i].At = time.Time{}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

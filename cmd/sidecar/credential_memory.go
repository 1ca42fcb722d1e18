package main

import (
	"context"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// remember compares the first set with what the ledger knows of earlier processes; false while it cannot be asked.
func (l *life) remember(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	last, err := l.book.LastOfCredentials(bounded)
	if err != nil {
		return false
	}
	l.active.revokeAgain(ctx, l.recall(last))
	return true
}

// recall notes what happened while this process did not run, and returns every name that was ever revoked.
func (l *life) recall(last []dedupe.CredentialEvent) []config.Revocation {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, revoked := credentialStates{}, []config.Revocation(nil)
	for _, e := range last {
		name := config.Revocation{Scope: e.Scope, ID: e.ID}
		if e.Status == dedupe.CredentialRevoked {
			revoked = append(revoked, name)
		}
		if e.Change != dedupe.CredentialRemoved || e.Status == dedupe.CredentialRevoked && l.has(name) {
			before[name] = credentialState{e.Status, e.Fingerprint}
		}
	}
	events := l.start.since(before)
	for i := range events {
		if events[i].Change == dedupe.CredentialBroughtBack {
			events[i].Status = dedupe.CredentialRevoked // as it will be in a moment
		}
	}
	l.note(events)
	return revoked
}

// has tells whether the process began with a credential of that name. l.mu is held.
func (l *life) has(name config.Revocation) bool {
	_, found := l.start[name]
	return found
}

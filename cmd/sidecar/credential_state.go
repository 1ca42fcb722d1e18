package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// credentialState is what counts of a credential at a moment.
type credentialState struct {
	status      dedupe.CredentialStatus
	fingerprint string // empty: unknown
}

// credentialStates are those of a set, by name.
type credentialStates map[config.Revocation]credentialState

func statesOf(set *config.Set, now time.Time) credentialStates {
	states := credentialStates{}
	for _, i := range set.Integrations {
		for _, info := range set.Verifier(i.Scope).Credentials() {
			states[config.Revocation{Scope: i.Scope, ID: info.ID}] = credentialState{statusAt(info, now), info.Fingerprint}
		}
	}
	return states
}

// statusAt is a credential's status with its validity taken into account.
func statusAt(info verify.CredentialInfo, now time.Time) dedupe.CredentialStatus {
	switch {
	case info.Status == verify.Revoked:
		return dedupe.CredentialRevoked
	case !info.NotAfter.IsZero() && now.After(info.NotAfter):
		return dedupe.CredentialExpired
	case !info.NotBefore.IsZero() && now.Before(info.NotBefore):
		return dedupe.CredentialPending
	case info.Status == verify.Retiring:
		return dedupe.CredentialRetiring
	}
	return dedupe.CredentialActive
}

// since tells what happened to the credentials since another moment, ordered by name.
func (s credentialStates) since(before credentialStates) []dedupe.CredentialEvent {
	var events []dedupe.CredentialEvent
	for name, is := range s {
		was, known := before[name]
		if change := changeBetween(was, is, known); change != "" {
			events = append(events, dedupe.CredentialEvent{
				Scope: name.Scope, ID: name.ID, Change: change, Status: is.status, Fingerprint: is.fingerprint,
			})
		}
	}
	for name, was := range before {
		if _, still := s[name]; !still {
			events = append(events, dedupe.CredentialEvent{
				Scope: name.Scope, ID: name.ID, Change: dedupe.CredentialRemoved, Status: was.status, Fingerprint: was.fingerprint,
			})
		}
	}
	slices.SortFunc(events, func(a, b dedupe.CredentialEvent) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
	})
	return events
}

// changeBetween names what happened to one credential; empty: nothing. A revoked one may have lost its secret.
func changeBetween(was, is credentialState, known bool) dedupe.CredentialChange {
	switch {
	case !known:
		return dedupe.CredentialCreated
	case was.status == dedupe.CredentialRevoked && is.status != dedupe.CredentialRevoked:
		return dedupe.CredentialBroughtBack
	case is.status != was.status && is.status == dedupe.CredentialRevoked:
		return dedupe.CredentialWasRevoked
	case is.fingerprint != was.fingerprint && is.fingerprint != "" && was.fingerprint != "":
		return dedupe.CredentialRotated
	case is.status != was.status && is.status == dedupe.CredentialExpired:
		return dedupe.CredentialHasExpired
	case is.status != was.status:
		return dedupe.CredentialMoved
	}
	return ""
}

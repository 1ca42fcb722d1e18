package main

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// credentialEvent is a step of a credential's life as JSON. Nothing in it is secret.
type credentialEvent struct {
	At          time.Time `json:"at"`
	Scope       string    `json:"scope"`
	Credential  string    `json:"credential"`
	Change      string    `json:"change"`
	Status      string    `json:"status"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Replica     string    `json:"replica"`
}

func credentialEvents(events []dedupe.CredentialEvent) []credentialEvent {
	shown := make([]credentialEvent, len(events))
	for i, e := range events {
		shown[i] = credentialEvent{
			At: e.At.UTC(), Scope: string(e.Scope), Credential: e.ID, Change: string(e.Change), Status: string(e.Status),
			Fingerprint: e.Fingerprint, Replica: e.Replica,
		}
	}
	return shown
}

// credentialHistory is what /api/v1/credentials answers: what every replica saw, newest first.
func (s *server) credentialHistory(ctx context.Context) (any, error) {
	const newest = 500
	ctx, cancel := context.WithTimeout(ctx, lifeTimeout)
	defer cancel()
	events, err := s.store.book.CredentialEvents(ctx, newest)
	return map[string][]credentialEvent{"credential_events": credentialEvents(events)}, err
}

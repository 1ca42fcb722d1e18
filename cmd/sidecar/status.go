package main

import (
	"context"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// statusReport is what /api/v1/status answers. Nothing in it is secret.
type statusReport struct {
	Build        build               `json:"build"`
	Replica      string              `json:"replica"`
	Namespace    string              `json:"namespace"`
	Started      time.Time           `json:"started"`
	Ready        bool                `json:"ready"`
	NotReady     []string            `json:"not_ready,omitempty"`
	Config       configStatus        `json:"config"`
	Ledger       ledgerStatus        `json:"ledger"`
	Seal         *sealStatus         `json:"seal,omitempty"`
	Integrations []integrationStatus `json:"integrations"`

	// CredentialEvents is what this process saw of the life of credentials lately, newest first; the ledger has all.
	CredentialEvents []credentialEvent `json:"credential_events,omitempty"`
	// Revoked are the names that never count again, as account/integration credential.
	Revoked []string `json:"revoked_credentials,omitempty"`
}

type configStatus struct {
	File         string     `json:"file"`
	Digest       string     `json:"digest"`
	Loaded       time.Time  `json:"loaded"`
	AgeSeconds   int64      `json:"age_seconds"` // since the files were last seen to say what is in force
	Valid        bool       `json:"valid"`
	InvalidSince *time.Time `json:"invalid_since,omitempty"`
	Problems     []string   `json:"problems,omitempty"`
	Dropped      int        `json:"dropped_credentials,omitempty"`

	Propagation propagationStatus `json:"propagation"`
}

// propagationStatus is how long changes of the files took to their effect in this replica, in milliseconds.
type propagationStatus struct {
	Declared int64 `json:"declared_ms"`
	Last     int64 `json:"last_ms"`
	Worst    int64 `json:"worst_ms"`
	Changes  int   `json:"changes"`
}

type ledgerStatus struct {
	Kind      string `json:"kind"`
	Reachable bool   `json:"reachable"`
	Error     string `json:"error,omitempty"`
}

type integrationStatus struct {
	Scope       string             `json:"scope"`
	Route       string             `json:"route"`
	Provider    string             `json:"provider"`
	Enabled     bool               `json:"enabled"`
	Paused      bool               `json:"paused"`
	Held        bool               `json:"paused_by_operator"`
	Mode        string             `json:"mode"`
	Live        bool               `json:"live"`
	Owner       string             `json:"owner,omitempty"`
	Credentials []credentialStatus `json:"credentials"`
}

type credentialStatus struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Fingerprint string     `json:"fingerprint,omitempty"`
	NotBefore   *time.Time `json:"not_before,omitempty"`
	NotAfter    *time.Time `json:"not_after,omitempty"`
}

func (s *server) status(ctx context.Context) any {
	current := s.active.state.Load()
	unready := s.health.unready()
	report := statusReport{
		Build: thisBuild(), Replica: s.replica, Namespace: s.settings.Namespace, Started: s.started.UTC(),
		Ready: len(unready) == 0, NotReady: unready,
		Config: configStatus{
			File: s.settings.Config, Digest: current.digest, Loaded: current.loaded.UTC(),
			AgeSeconds: int64(time.Since(s.refreshed()).Seconds()), Valid: current.invalid.IsZero(),
			Problems: current.problems, Dropped: current.dropped, Propagation: s.propagationStatus(),
		},
		Ledger: s.ledgerStatus(ctx), Seal: s.sealing.status(),
	}
	if !current.invalid.IsZero() {
		since := current.invalid.UTC()
		report.Config.InvalidSince = &since
	}
	for _, i := range current.set.Integrations {
		shown := newIntegrationStatus(current.set, i)
		shown.Held = s.worker.Held(i.Scope)
		shown.Paused = shown.Paused || shown.Held
		report.Integrations = append(report.Integrations, shown)
	}
	report.CredentialEvents = credentialEvents(s.active.life.events())
	report.Revoked = s.active.revokedNames()
	return report
}

func (s *server) propagationStatus() propagationStatus {
	took := s.propagation()
	return propagationStatus{
		Declared: time.Duration(s.settings.ReloadInterval).Milliseconds(),
		Last:     took.Last.Milliseconds(), Worst: took.Worst.Milliseconds(), Changes: took.Count,
	}
}

func newIntegrationStatus(set *config.Set, i *config.Integration) integrationStatus {
	verifier := set.Verifier(i.Scope)
	shown := integrationStatus{
		Scope: string(i.Scope), Route: i.Route, Provider: i.Provider, Enabled: i.Enabled, Paused: i.Paused,
		Mode: either(i.Accept, "accept", "forward"),
		Live: verifier.Live(time.Now()), Owner: i.Owner,
	}
	for _, info := range verifier.Credentials() {
		shown.Credentials = append(shown.Credentials, credentialStatus{
			ID: info.ID, Status: string(info.Status), Fingerprint: info.Fingerprint,
			NotBefore: knownTime(info.NotBefore), NotAfter: knownTime(info.NotAfter),
		})
	}
	return shown
}

func knownTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// ledgerStatus tells whether the ledger answers a person in time.
func (s *server) ledgerStatus(ctx context.Context) ledgerStatus {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	shown := ledgerStatus{Kind: describeLedger(s.settings)}
	answers := make(chan bool, 1) // a store does not break off what it has begun
	go func() { answers <- s.ledgerAnswers(ctx) }()
	select {
	case shown.Reachable = <-answers:
	case <-ctx.Done():
	}
	if !shown.Reachable {
		shown.Error = "out of reach"
	}
	return shown
}

// ledgerAnswers reads one row that cannot exist.
func (s *server) ledgerAnswers(ctx context.Context) bool {
	_, err := s.keeper.Receipt(ctx, delivery.Scope("-/-"), "-")
	return err == nil || errors.Is(err, dedupe.ErrNotFound)
}

// describeLedger names the ledger without a password.
func describeLedger(settings config.Settings) string { return settings.Database.String() }

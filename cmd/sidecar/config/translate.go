package config

import (
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// verification is an integration as the verifier sees it.
func (i *Integration) verification() verify.Config {
	c := verify.Config{
		Scope: i.Scope, Provider: i.Provider, HMAC: i.HMAC, Event: i.Event, Require: i.Require, PublicURL: i.PublicURL,
		UnsignedID: i.UnsignedID, Handshake: i.Handshake, Fingerprint: i.Fingerprint,
	}
	for _, credential := range i.Credentials {
		c.Credentials = append(c.Credentials, credential.Credential)
	}
	return c
}

// policy is an integration as the ledger sees it.
func (i *Integration) policy() dedupe.Policy {
	policy := dedupe.Policy{
		Lease:     i.Lease,
		Record:    dedupe.Record{Final: i.Record.Statuses.Has, Headers: i.Record.Headers, MaxBody: int(i.Record.MaxBody)},
		Limit:     i.ForwardLimit,
		Retention: dedupe.Retention{Receipt: i.Retention.Receipt(), DeadLetter: i.Retention.DeadLetter},
	}
	if i.Quarantine {
		policy.InDoubt = dedupe.Quarantine
	}
	return policy
}

// proxyRoute is an integration as the proxy sees it.
func (i *Integration) proxyRoute(verifier *verify.Verifier) proxy.Route {
	return proxy.Route{
		Scope: i.Scope, Path: i.Route, Methods: i.Methods, Enabled: i.Enabled, Paused: i.Paused, MaxBody: i.MaxBody,
		Timeout: i.Timeout, DuplicateWait: i.DuplicateWait, InFlightStatus: i.InFlightStatus,
		ReplayConflict: i.ReplayConflict, KeyHeader: i.KeyHeader, KeyScoped: i.KeyScoped,
		Policy: i.policy(), Verifier: verifier,
	}
}

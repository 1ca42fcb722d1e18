package config

import (
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
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
		Retry:     i.Retry,
		Backoff:   i.Backoff,
		Retention: dedupe.Retention{Receipt: i.Retention.Receipt(), DeadLetter: i.Retention.DeadLetter},
	}
	if i.Quarantine {
		policy.InDoubt = dedupe.Quarantine
	}
	switch {
	case i.Accept:
		policy.OnFailure, policy.Limit, policy.Record.Rejected = dedupe.Queue, i.Retry, i.Record.Rejected.Has
	case i.Queue:
		policy.OnFailure, policy.Limit = dedupe.Queue, stricter(i.Retry, i.ForwardLimit)
	}
	return policy
}

// stricter keeps the lower of the bounds that are set.
func stricter(a, b dedupe.Limit) dedupe.Limit {
	if b.MaxAttempts > 0 && (a.MaxAttempts == 0 || b.MaxAttempts < a.MaxAttempts) {
		a.MaxAttempts = b.MaxAttempts
	}
	if b.MaxAge > 0 && (a.MaxAge == 0 || b.MaxAge < a.MaxAge) {
		a.MaxAge = b.MaxAge
	}
	return a
}

// workRoute is an integration as the worker sees it.
func (i *Integration) workRoute() worker.Route {
	return worker.Route{
		Scope: i.Scope, Hold: i.Paused || !i.Enabled, Timeout: i.Timeout, Concurrency: i.Concurrency,
		MaxBody: i.MaxBody, KeyHeader: i.KeyHeader, KeyScoped: i.KeyScoped, Policy: i.policy(),
	}
}

// proxyRoute is an integration as the proxy sees it.
func (i *Integration) proxyRoute(verifier *verify.Verifier) proxy.Route {
	return proxy.Route{
		Scope: i.Scope, Path: i.Route, Methods: i.Methods, Enabled: i.Enabled, Paused: i.Paused, MaxBody: i.MaxBody,
		Timeout: i.Timeout, DuplicateWait: i.DuplicateWait, InFlightStatus: i.InFlightStatus,
		ReplayConflict: i.ReplayConflict, KeyHeader: i.KeyHeader, KeyScoped: i.KeyScoped,
		Policy: i.policy(), Verifier: verifier, Accept: i.Accept, Acknowledge: i.Acknowledge,
	}
}

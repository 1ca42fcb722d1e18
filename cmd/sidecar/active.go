package main

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// active is the configuration in force. Readers see one state as a whole.
type active struct {
	file   string
	lookup func(name string) (string, bool)
	log    *slog.Logger
	serve  func(routes []proxy.Route) error
	state  atomic.Pointer[state]
	life   *life // of the credentials in it; nil: nobody follows it

	changing sync.Mutex                     // one change at a time
	revoked  map[config.Revocation]struct{} // every credential that was revoked once
}

// state is what is in force, and what was wrong with the last file that did not come into force.
type state struct {
	set      *config.Set
	policies map[delivery.Scope]dedupe.Policy
	work     []worker.Route
	digest   string
	loaded   time.Time
	invalid  time.Time // since when the file says something else that is invalid; zero: it does not
	problems []string
	dropped  int // credentials that an invalid file marks revoked
}

func (a *active) read(ctx context.Context) (*reload.Reading, *config.Set, error) {
	return reload.Settled(ctx, func(r *reload.Reading) (*config.Set, error) {
		return config.LoadIntegrations(a.file, config.Source{ReadFile: r.ReadFile, LookupEnv: a.lookup})
	})
}

// start puts the first set in force.
func (a *active) start(reading *reload.Reading, set *config.Set) error {
	return a.put(&state{set: set, digest: digestOf(reading), loaded: time.Now()})
}

func (a *active) put(next *state) error {
	next.policies, next.work = next.set.Policies(), next.set.WorkRoutes()
	if err := a.serve(next.set.Routes()); err != nil {
		return err
	}
	a.store(next)
	return nil
}

// store makes a state the one that readers see, once its routes are served. What it revokes stays revoked.
func (a *active) store(next *state) {
	a.state.Store(next)
	a.keepRevoked(next.set.Revoked())
	if a.life != nil {
		a.life.follow(next.set)
	}
}

// apply reads everything anew. What is valid comes into force as a whole; of what is not, only the revocations do.
func (a *active) apply(ctx context.Context) (*reload.Reading, error) {
	reading, set, err := a.read(ctx)
	if ctx.Err() != nil {
		return reading, ctx.Err()
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	if err == nil {
		err = a.refuseRevoked(set)
	}
	if err == nil {
		err = a.put(&state{set: set, digest: digestOf(reading), loaded: time.Now()})
	}
	if err != nil {
		a.refuse(ctx, reading, err)
		return reading, err
	}
	a.log.InfoContext(ctx, "configuration reloaded", "integrations", len(set.Integrations), "digest", digestOf(reading))
	for _, warning := range set.Warnings {
		a.log.DebugContext(ctx, "configuration warning", "warning", warning.String())
	}
	return reading, nil
}

// refuse keeps the old set in force, without the credentials that the new file marks revoked.
func (a *active) refuse(ctx context.Context, reading *reload.Reading, err error) {
	last := a.state.Load()
	next := *last
	next.problems = problemLines(err)
	if last.invalid.IsZero() {
		next.invalid = time.Now()
	}
	text, readErr := reading.ReadFile(a.file)
	if readErr == nil {
		a.drop(ctx, &next, config.Revocations(text))
	}
	a.store(&next)
	a.log.ErrorContext(ctx, "the new configuration is invalid: the old one stays in force",
		"problems", next.problems, "invalid_since", next.invalid.UTC())
}

func (a *active) drop(ctx context.Context, next *state, revocations []config.Revocation) {
	set, count, err := next.set.Revoke(revocations)
	if err == nil && count > 0 {
		next.set = set
		err = a.serve(set.Routes())
	}
	if err != nil {
		a.log.ErrorContext(ctx, "a revocation in the invalid configuration could not be put in force", "error", err)
		return
	}
	if count > 0 {
		next.dropped += count
		a.log.WarnContext(ctx, "credentials that the invalid configuration marks revoked are dropped", "credentials", count)
	}
}

// policy is that of a scope in force.
func (a *active) policy(scope delivery.Scope) (dedupe.Policy, bool) {
	current := a.state.Load()
	if current == nil {
		return dedupe.Policy{}, false
	}
	policy, known := current.policies[scope]
	return policy, known
}

// workRoutes are the integrations in force as the worker sees them.
func (a *active) workRoutes() []worker.Route {
	current := a.state.Load()
	if current == nil {
		return nil
	}
	return current.work
}

// invalidSince is when the file became invalid; false while it is not.
func (a *active) invalidSince() (time.Time, bool) {
	current := a.state.Load()
	if current == nil || current.invalid.IsZero() {
		return time.Time{}, false
	}
	return current.invalid, true
}

func problemLines(err error) []string {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return []string{err.Error()}
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = problem.String()
	}
	return lines
}

func digestOf(reading *reload.Reading) string {
	sum := reading.Digest()
	return hex.EncodeToString(sum[:8])
}

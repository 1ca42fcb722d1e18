package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// Set is everything that one reading of the integrations file and its secrets says. It is immutable and safe for
// concurrent use.
type Set struct {
	Integrations []*Integration
	Warnings     Problems // what is allowed and probably not meant
	Notes        Problems // what the loader did that somebody may want to know

	file      string
	verifiers map[delivery.Scope]*verify.Verifier
}

// build makes the verifiers and returns their complaints, which are problems of the file.
func (s *Set) build() Problems {
	var problems Problems
	s.verifiers = make(map[delivery.Scope]*verify.Verifier, len(s.Integrations))
	for _, i := range s.Integrations {
		if i.preset.Name == "" || i.Scope == "" {
			continue // reported already
		}
		verifier, err := verify.New(i.verification())
		if err != nil {
			for _, text := range flatten(err) {
				problems = append(problems, i.at.complaint(text))
			}
			continue
		}
		s.verifiers[i.Scope] = verifier
	}
	return problems
}

// flatten takes joined errors apart; each text keeps what was said before all of them.
func flatten(err error) []string {
	var joined interface {
		error
		Unwrap() []error
	}
	if !errors.As(err, &joined) {
		return []string{err.Error()}
	}
	before := strings.TrimSuffix(err.Error(), joined.Error())
	var all []string
	for _, one := range joined.Unwrap() {
		for _, text := range flatten(one) {
			all = append(all, before+text)
		}
	}
	return all
}

// Find returns the integration of a scope.
func (s *Set) Find(scope delivery.Scope) (*Integration, error) {
	for _, i := range s.Integrations {
		if i.Scope == scope {
			return i, nil
		}
	}
	return nil, fmt.Errorf("%s has no integration %s", s.file, scope)
}

// Verifier returns the verifier of a scope; nil where there is none.
func (s *Set) Verifier(scope delivery.Scope) *verify.Verifier { return s.verifiers[scope] }

// Policies are the policies by scope.
func (s *Set) Policies() map[delivery.Scope]dedupe.Policy {
	policies := make(map[delivery.Scope]dedupe.Policy, len(s.Integrations))
	for _, i := range s.Integrations {
		policies[i.Scope] = i.policy()
	}
	return policies
}

// Routes are what the proxy serves.
func (s *Set) Routes() []proxy.Route {
	routes := make([]proxy.Route, 0, len(s.Integrations))
	for _, i := range s.Integrations {
		routes = append(routes, i.proxyRoute(s.verifiers[i.Scope]))
	}
	return routes
}

// WorkRoutes are what the worker works off.
func (s *Set) WorkRoutes() []worker.Route {
	routes := make([]worker.Route, 0, len(s.Integrations))
	for _, i := range s.Integrations {
		routes = append(routes, i.workRoute())
	}
	return routes
}

// Revocation names a credential that a file marks revoked.
type Revocation struct {
	Scope delivery.Scope
	ID    string
}

// Revoke returns the set without the power of the named credentials, and how many it took away. Where that is none, or a
// verifier cannot be made, it returns the set itself.
func (s *Set) Revoke(revocations []Revocation) (*Set, int, error) {
	count := 0
	next := &Set{Warnings: s.Warnings, Notes: s.Notes, file: s.file}
	for _, i := range s.Integrations {
		changed := *i
		changed.Credentials = slices.Clone(i.Credentials)
		count += changed.revoke(revocations)
		next.Integrations = append(next.Integrations, &changed)
	}
	if count == 0 {
		return s, 0, nil
	}
	if err := next.build().err(); err != nil {
		return s, 0, fmt.Errorf("revoke: %w", err)
	}
	return next, count, nil
}

// revoke marks the named credentials, and those with the same secret under another name, and returns how many.
func (i *Integration) revoke(revocations []Revocation) int {
	count := 0
	for n := range i.Credentials {
		named := i.Credentials[n]
		if !slices.Contains(revocations, Revocation{i.Scope, named.ID}) {
			continue
		}
		for m := range i.Credentials {
			other := &i.Credentials[m]
			same := m == n || len(named.Secret) > 0 && bytes.Equal(named.Secret, other.Secret)
			if same && other.Status != revoked {
				other.Status = revoked
				count++
			}
		}
	}
	return count
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// brokenPromise names, to a test program that is the sidecar, the promise that it breaks.
const brokenPromise = "BREAK_PROMISE"

// brokenPromises are sidecars with one defect each.
func brokenPromises() map[string]func(*server) error {
	return map[string]func(*server) error{
		"global key": func(s *server) error {
			s.store.Backend = globalKey{s.store.Backend}
			return nil
		},
		"acknowledgement before commit": func(s *server) error {
			if os.Args[1] == "run" { // only those that the drill kills, so that nothing else goes wrong
				s.store.Backend = &hasty{Backend: s.store.Backend}
			}
			return nil
		},
		"scope lost in rotation": func(s *server) error {
			return verifiedBy(s, func(v proxy.Verifier) proxy.Verifier { return scopeOfKey{v} })
		},
		"cache that outlives a revocation": func(s *server) error {
			known := &sync.Map{}
			return verifiedBy(s, func(v proxy.Verifier) proxy.Verifier { return remembering{v, known} })
		},
		"unverified claim": func(s *server) error {
			return verifiedBy(s, func(v proxy.Verifier) proxy.Verifier { return credulous{v, s} })
		},
		"reload that never comes": func(s *server) error {
			s.active.serve = func([]proxy.Route) error { return nil }
			return nil
		},
	}
}

// beBroken is main for a sidecar with a defect, and returns its exit status.
func beBroken(name string) int {
	p := newProgram()
	p.alter = brokenPromises()[name]
	if p.alter == nil {
		return p.finish(usagef("nobody breaks %q", name))
	}
	if os.Args[1] != "run" {
		return p.dispatch(context.Background(), os.Args[1:])
	}
	return p.finish(p.runAltered(context.Background()))
}

// runAltered is run with a server that was altered.
func (p *program) runAltered(ctx context.Context) error {
	settings, err := p.settings()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	s, err := p.newServer(ctx, settings)
	if err == nil {
		err = p.alter(s)
	}
	if err != nil {
		return err
	}
	return s.run(ctx, signals)
}

// globalKey knows an event by its ID alone.
type globalKey struct{ dedupe.Backend }

func global(key dedupe.Key) dedupe.Key { return dedupe.Key{Scope: "any/any", EventID: key.EventID} }

func (g globalKey) Insert(ctx context.Context, rows []dedupe.NewRow) ([]dedupe.Found, error) {
	all := make([]dedupe.Found, len(rows))
	for i, row := range rows { // one by one: two accounts' rows of one batch would have one key
		row.Key = global(row.Key)
		found, err := g.Backend.Insert(ctx, []dedupe.NewRow{row})
		if err != nil {
			return nil, err
		}
		all[i] = found[0]
	}
	return all, nil
}

func (g globalKey) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	all := make([]bool, len(moves))
	for i, move := range moves {
		move.Key = global(move.Key)
		made, err := g.Backend.Move(ctx, []dedupe.Move{move})
		if err != nil {
			return nil, err
		}
		all[i] = made[0]
	}
	return all, nil
}

func (g globalKey) Read(ctx context.Context, keys []dedupe.Key) ([]dedupe.Row, error) {
	other := make([]dedupe.Key, len(keys))
	for i, key := range keys {
		other[i] = global(key)
	}
	return g.Backend.Read(ctx, other)
}

// hasty says that a result is recorded, and records it later.
type hasty struct{ dedupe.Backend }

func (h *hasty) Move(_ context.Context, moves []dedupe.Move) ([]bool, error) {
	time.AfterFunc(5*time.Second, func() { _, _ = h.Backend.Move(context.Background(), moves) })
	made := make([]bool, len(moves))
	for i := range made {
		made[i] = true
	}
	return made, nil
}

// verifiedBy puts something around every verifier, now and after every reload.
func verifiedBy(s *server, around func(proxy.Verifier) proxy.Verifier) error {
	s.active.serve = func(routes []proxy.Route) error {
		for i := range routes {
			routes[i].Verifier = around(routes[i].Verifier)
		}
		return s.serve(routes)
	}
	return s.active.put(s.active.state.Load())
}

// scopeOfKey takes the scope from the key that matched instead of from the integration.
type scopeOfKey struct{ proxy.Verifier }

func (v scopeOfKey) Authenticate(d *delivery.Delivery, now time.Time) (verify.Proof, error) {
	proof, err := v.Verifier.Authenticate(d, now)
	proof.Scope += delivery.Scope("-" + proof.CredentialID)
	return proof, err
}

// remembering knows a signature that it has seen, whatever became of the credential.
type remembering struct {
	proxy.Verifier

	known *sync.Map
}

func (v remembering) Live(time.Time) bool { return true }

func (v remembering) key(d *delivery.Delivery) string {
	return fmt.Sprint(d.Target, d.Header["X-Signature"], d.Header["X-Timestamp"], string(d.Body))
}

func (v remembering) Authenticate(d *delivery.Delivery, now time.Time) (verify.Proof, error) {
	if proof, seen := v.known.Load(v.key(d)); seen {
		return proof.(verify.Proof), nil //nolint:forcetypeassert // nothing else is stored
	}
	proof, err := v.Verifier.Authenticate(d, now)
	if err == nil {
		v.known.Store(v.key(d), proof)
	}
	return proof, err
}

// credulous claims an event before it has looked at the signature.
type credulous struct {
	proxy.Verifier

	server *server
}

func (v credulous) Authenticate(d *delivery.Delivery, now time.Time) (verify.Proof, error) {
	proof, err := v.Verifier.Authenticate(d, now)
	var rejection *verify.Rejection
	var said struct {
		ID string `json:"id"`
	}
	if errors.As(err, &rejection) && json.Unmarshal(d.Body, &said) == nil && said.ID != "" {
		const scope = "alpha/payments"
		policy, _ := v.server.active.policy(scope)
		_, _ = v.server.cache.Claim(context.Background(), dedupe.Request{
			Scope: scope, EventID: delivery.EventID(said.ID), Policy: policy,
		})
	}
	return proof, err
}

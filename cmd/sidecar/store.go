package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/postgres"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/seal"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// restartPatience is how long an embedded ledger may still be in the hands of the process before this one.
const restartPatience = 3 * time.Second

// store is the ledger's rows, wherever they are. Closing it ends running calls.
type store struct {
	dedupe.Backend
	vault    dedupe.Vault // what is stored, as it is stored
	book     dedupe.CredentialBook
	evidence evidence
	ping     func(ctx context.Context) error // brings the schema up to date where that is wanted
	close    func()
}

// evidence is what is sealed in checkpoints and audited.
type evidence interface {
	dedupe.Checkpoints
	dedupe.Histories
}

// openStore opens the ledger. A PostgreSQL out of reach is no error: it is connected to when it is needed. An embedded
// ledger in somebody's hands is waited for as long as patience says. A tracer, where there is one, sees the round trips.
func openStore(ctx context.Context, settings config.Settings, patience time.Duration, tracer pgx.QueryTracer) (*store, error) {
	if path := settings.Database.SQLite; path != "" {
		return openEmbedded(ctx, path, patience, settings.Migrate == "off")
	}
	opened, err := postgres.Open(ctx, postgres.Config{
		URL: settings.Database.PostgresURL, Namespace: settings.Namespace, NoMigrate: settings.Migrate == "off",
		Tracer: tracer,
	})
	if err != nil {
		return nil, config.Problems{{Key: "DATABASE_URL", Text: err.Error()}}
	}
	return &store{opened, opened, opened, opened, opened.Ping, opened.Close}, nil
}

func openEmbedded(ctx context.Context, path string, patience time.Duration, asItIs bool) (*store, error) {
	open := sqlite.Open
	if asItIs {
		open = sqlite.OpenAsItIs
	}
	for deadline := time.Now().Add(patience); ; {
		opened, err := open(ctx, path)
		if err == nil {
			ping := func(context.Context) error { return nil }
			return &store{opened, opened, opened, opened, ping, func() { _ = opened.Close() }}, nil
		}
		if !errors.Is(err, sqlite.ErrHeld) || time.Now().After(deadline) {
			return nil, whyNot(err, path, asItIs)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// whyNot says what to do about a ledger that is not there, or not yet as this version wants it.
func whyNot(err error, path string, asItIs bool) error {
	switch {
	case asItIs && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no ledger at %s: sidecar migrate makes one, and so does a sidecar with SIDECAR_MIGRATE=auto", path)
	case errors.Is(err, sqlite.ErrOutdated):
		return fmt.Errorf("%w: sidecar migrate brings it up to date, and so does a sidecar with SIDECAR_MIGRATE=auto", err)
	}
	return err
}

// seal puts what is kept under the keys of a ring.
func (s *store) seal(namespace string, ring *seal.Ring, watch seal.Watch) error {
	sealed, err := seal.New(seal.Config{Store: s.Backend, Namespace: namespace, Ring: ring, Watch: watch})
	if err == nil {
		s.Backend = sealed
	}
	return err
}

// openExisting opens the ledger for a command. A command does not make a ledger that is not there: under a wrong name there is
// nothing, and that is no answer to what was asked. Nor does it bring one up to date, beside replicas of an older version.
func openExisting(ctx context.Context, settings config.Settings) (*store, error) {
	settings.Migrate = "off"
	opened, err := openStore(ctx, settings, 0, nil)
	if errors.Is(err, sqlite.ErrHeld) {
		return nil, fmt.Errorf("%w: ask the running sidecar at http://%s/api/v1/ for receipts and dead letters, or stop it first for anything else", err, settings.AdminListen)
	}
	return opened, err
}

// openKeeper opens the ledger for a command, with the keys that open it.
func (p *program) openKeeper(ctx context.Context, settings config.Settings) (*dedupe.Keeper, func(), error) {
	ring, err := p.sealRing(settings)
	if err != nil {
		return nil, nil, err
	}
	opened, err := openExisting(ctx, settings)
	if err != nil {
		return nil, nil, err
	}
	if err := opened.seal(settings.Namespace, ring, nil); err != nil {
		opened.close()
		return nil, nil, err
	}
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{
		Store: opened, Replica: "command on " + replicaName(), Policy: p.policies(settings), Worker: true,
	})
	if err != nil {
		opened.close()
		return nil, nil, err
	}
	return keeper, opened.close, nil
}

// policies are those of the integrations file where it can be read; a command works without.
func (p *program) policies(settings config.Settings) func(delivery.Scope) (dedupe.Policy, bool) {
	set, err := p.integrations(settings)
	if err != nil {
		return nil
	}
	known := set.Policies()
	return func(scope delivery.Scope) (dedupe.Policy, bool) {
		policy, found := known[scope]
		return policy, found
	}
}

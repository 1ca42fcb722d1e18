package main

import (
	"context"
	"fmt"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
)

// How often this process asks the ledger when nothing happens. With the worker's own look and the gauges this stays below
// one question a second.
const (
	sweepEvery  = 5 * time.Second
	forgetEvery = 30 * time.Second
	// sealPatience is how long nothing is forgotten while nothing could be sealed yet.
	sealPatience = 5 * time.Minute
)

// buildWorker makes what works off stored jobs. It works for every process: a forward-only integration has jobs, too, when
// a person replays a dead event.
func (s *server) buildWorker(watch *telemetry.Watch) error {
	attempts, err := telemetry.NewAttempts(watch, s.telemetry.Meter)
	if err != nil {
		return err
	}
	if err := s.attention.ObserveForeign(s.telemetry.Meter, s.configured); err != nil {
		return err
	}
	s.worker, err = worker.NewDispatcher(worker.Config{
		Ledger: s.keeper, Application: application{s.upstream, s.health}, Routes: s.active.workRoutes, Watch: attempts,
		Log: s.log, Bytes: int64(s.settings.MaxInflight) / 2,
	})
	return err
}

// configured tells whether an integration in force has the scope.
func (s *server) configured(scope delivery.Scope) bool {
	_, known := s.active.policy(scope)
	return known
}

// work runs the dispatcher until ctx ends and its attempts are over.
func (s *server) work(ctx context.Context) error {
	defer close(s.worked)
	return s.worker.Run(ctx)
}

// finish waits until nothing is in flight, or ctx has ended.
func (s *server) finish(ctx context.Context) error {
	err := s.public.Shutdown(ctx)
	if drained := s.passing.Drain(ctx); err == nil {
		err = drained
	}
	select {
	case <-s.worked:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return err
}

// buildNotary makes what seals evidence. Its questions to the ledger are few: one a minute where nothing is new.
func (s *server) buildNotary() error {
	notary, err := audit.NewNotary(audit.NotaryConfig{Store: s.store.evidence})
	if err != nil {
		return err
	}
	if s.notary, err = worker.NewCheckpointer(worker.CheckpointerConfig{Notary: notary, Log: s.log}); err != nil {
		return err
	}
	return telemetry.ObserveEvidence(s.telemetry.Meter, s.notary.Sealed)
}

// forgets lets evidence be sealed before anything is forgotten, also where nobody served the ledger for longer than a
// receipt lives. A ledger in which nothing can be sealed forgets all the same.
func (s *server) forgets() func() bool {
	start := time.Now()
	return func() bool { return !s.notary.Sealed().IsZero() || time.Since(start) > sealPatience }
}

func (s *server) sweep(ctx context.Context) error {
	sweeper, err := worker.NewSweeper(worker.SweeperConfig{Ledger: s.keeper, Every: sweepEvery, Log: s.log})
	if err != nil {
		return fmt.Errorf("sweeper: %w", err)
	}
	return sweeper.Run(ctx)
}

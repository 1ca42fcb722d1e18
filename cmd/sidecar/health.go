package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// health is what makes this process ready. Once the application was reached, its absence shows in answers, not here:
// taking every pod out would help nobody.
type health struct {
	loaded   atomic.Bool
	reached  atomic.Bool
	draining atomic.Bool
}

// unready are the reasons against getting traffic.
func (h *health) unready() []string {
	var reasons []string
	if h.draining.Load() {
		reasons = append(reasons, "draining")
	}
	if !h.loaded.Load() {
		reasons = append(reasons, "the configuration is not loaded")
	}
	if !h.reached.Load() {
		reasons = append(reasons, "the application has not been reached yet")
	}
	return reasons
}

// reach knocks at the application until it was reached.
func (h *health) reach(ctx context.Context, knock func(context.Context) error) error {
	for pause := 50 * time.Millisecond; !h.reached.Load(); pause = min(2*pause, time.Second) {
		bounded, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := knock(bounded)
		cancel()
		if err == nil {
			h.reached.Store(true)
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
	return nil
}

// application notes that the application answered, which proves that it was reached.
type application struct {
	*upstream.Upstream
	health *health
}

func (a application) Forward(ctx context.Context, attempt upstream.Attempt) delivery.Result {
	result := a.Upstream.Forward(ctx, attempt)
	if result.Outcome == delivery.Answered && !a.health.reached.Load() {
		a.health.reached.Store(true)
	}
	return result
}

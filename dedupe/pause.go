package dedupe

import (
	"context"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Pause holds a scope until somebody lets it go on: ErrState where it is held already. Replicas see it with their next
// Take.
func (k *Keeper) Pause(ctx context.Context, scope delivery.Scope, by Act) error {
	return k.setPaused(ctx, scope, true, by)
}

// Resume lets a scope go on; ErrState where nobody holds it.
func (k *Keeper) Resume(ctx context.Context, scope delivery.Scope, by Act) error {
	return k.setPaused(ctx, scope, false, by)
}

// PauseActs returns who paused and resumed what, oldest first.
func (k *Keeper) PauseActs(ctx context.Context) ([]PauseAct, error) { return k.store.PauseActs(ctx) }

// setPaused tries again for a while where it is unknown what came of it. Then it finds the scope as wanted, maybe by its own doing.
func (k *Keeper) setPaused(ctx context.Context, scope delivery.Scope, paused bool, by Act) error {
	ctx, cancel := context.WithTimeout(ctx, actPatience)
	defer cancel()
	for try := 0; ; try++ {
		changed, err := k.store.SetPaused(ctx, scope, paused, by)
		switch {
		case err == nil && (changed || try > 0):
			return nil
		case err == nil:
			return ErrState
		case !again(ctx, err, try):
			return fmt.Errorf("pause: %w", err)
		}
	}
}

package dedupe

import (
	"context"
	"errors"
	"fmt"
)

// Look implements Ledger. It reads by the ID alone: give it the receipt's own one, which the lost claim has. It judges
// leases by the time of the last change, the latest that the store's clock has surely reached.
func (k *Keeper) Look(ctx context.Context, r Request) (Decision, error) {
	row, err := k.read(ctx, Key{Scope: r.Scope, EventID: r.EventID})
	for try := 1; err != nil && !errors.Is(err, ErrNotFound) && try < maxTries && again(ctx, err, try); try++ {
		row, err = k.read(ctx, Key{Scope: r.Scope, EventID: r.EventID})
	}
	if err != nil {
		return Decision{}, fmt.Errorf("look: %w", err)
	}
	r.Accept, r.Job = false, nil // nothing is moved, so nothing that is only at hand is kept
	decision := decide(&r, Token{}, Found{Row: row, Now: row.Changed}).decision
	if err := decision.unanswerable(); err != nil {
		return Decision{}, fmt.Errorf("look: %w", err)
	}
	if decision.Kind == Fresh {
		decision.Kind, decision.Claim = InFlight, Claim{}
	}
	return decision, nil
}

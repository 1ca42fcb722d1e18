package worker

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Wake makes the dispatcher look now: a job has become due.
func (d *Dispatcher) Wake() { signal(d.wake) }

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default: // it is about to
	}
}

// wakeFor makes the dispatcher look when a job of a scope is due, unless it looks before that anyway, or would leave the
// job alone.
func (d *Dispatcher) wakeFor(scope delivery.Scope, after time.Duration) {
	switch open := d.open.Load(); {
	case after >= d.config.Every || open != nil && !has(open, scope):
	case after <= 0:
		d.Wake()
	default:
		time.AfterFunc(after+clockMargin, d.Wake)
	}
}

// clockMargin lets the ledger's clock reach what this process's has reached.
const clockMargin = 5 * time.Millisecond

func has(set *map[delivery.Scope]struct{}, scope delivery.Scope) bool {
	_, is := (*set)[scope]
	return is
}

func setOf(scopes []delivery.Scope) *map[delivery.Scope]struct{} {
	set := make(map[delivery.Scope]struct{}, len(scopes))
	for _, scope := range scopes {
		set[scope] = struct{}{}
	}
	return &set
}

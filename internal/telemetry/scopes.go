package telemetry

import (
	"sync"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// maxScopes bounds how many integrations have time series of their own; the rest share one.
const maxScopes = 200

// otherScope labels the integrations beyond maxScopes, and noScope what belongs to none.
const (
	otherScope = "other"
	noScope    = "none"
)

// scopeLabels hands out the label of a scope. The first maxScopes that are seen keep their names for the life of the
// process, so that a series never changes its meaning. Safe for concurrent use.
type scopeLabels struct {
	known sync.Map // delivery.Scope → struct{}
	mu    sync.Mutex
	count int
}

func (l *scopeLabels) label(scope delivery.Scope) string {
	if scope == "" {
		return noScope
	}
	if _, known := l.known.Load(scope); known {
		return string(scope)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known.Load(scope); known {
		return string(scope)
	}
	if l.count >= maxScopes {
		return otherScope
	}
	l.count++
	l.known.Store(scope, struct{}{})
	return string(scope)
}

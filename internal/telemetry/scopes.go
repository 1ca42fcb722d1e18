package telemetry

import "github.com/webhook-sidecar/webhook-sidecar/delivery"

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
	known lookup[delivery.Scope, string]
}

func (l *scopeLabels) label(scope delivery.Scope) string {
	if scope == "" {
		return noScope
	}
	if label, known := l.known.getOf(scope, maxScopes, ownLabel); known {
		return label
	}
	return otherScope
}

func ownLabel(scope delivery.Scope) string { return string(scope) }

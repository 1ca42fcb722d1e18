package main

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// fresh is a verifier whose credentials count as live only while the files are known to say so
// (SIDECAR_CREDENTIAL_MAX_AGE).
type fresh struct {
	proxy.Verifier
	refreshed func() time.Time
	maxAge    time.Duration
}

// Live is false when the files could not be refreshed for too long.
func (f fresh) Live(now time.Time) bool {
	return now.Sub(f.refreshed()) <= f.maxAge && f.Verifier.Live(now)
}

// freshened makes the routes depend on the age of the configuration; maxAge 0 changes nothing.
func freshened(routes []proxy.Route, refreshed func() time.Time, maxAge time.Duration) []proxy.Route {
	if maxAge == 0 {
		return routes
	}
	for i := range routes {
		routes[i].Verifier = fresh{routes[i].Verifier, refreshed, maxAge}
	}
	return routes
}

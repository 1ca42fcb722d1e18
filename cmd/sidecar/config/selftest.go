package config

import (
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// SelftestRoute is the integration's route as the proxy serves it, but enabled and not paused, so that it can be judged
// while it is held.
func (i *Integration) SelftestRoute(verifier *verify.Verifier) proxy.Route {
	route := i.proxyRoute(verifier)
	route.Enabled, route.Paused = true, false
	return route
}

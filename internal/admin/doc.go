// Package admin serves operators and probes: the operator API with everything, and the probe listener with nothing but
// /livez, /readyz and /metrics.
package admin

// Package telemetry turns what the rooms let be seen into logs, metrics and traces. The rooms know nothing of it: the
// proxy has a Watch, the stores have observers, and cmd/sidecar hands the ones of this package in.
//
// Nothing secret passes through: records carry event references instead of IDs, paths are those of configured routes,
// and labels come from closed sets or from the configuration, at most maxScopes of it.
package telemetry

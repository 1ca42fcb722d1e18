// Package e2e drives the built binary from outside, as senders, applications, operators and accidents do: real processes,
// real PostgreSQL, real signals. It holds tests only.
package e2e

// Package worker does what nobody waits for: it hands stored jobs to the application, and sweeps the ledger.
package worker

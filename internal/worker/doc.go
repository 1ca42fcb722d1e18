// Package worker does what nobody waits for: it sweeps the ledger.
package worker

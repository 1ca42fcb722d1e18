// Package sqlite is the embedded store of the ledger: one file, one process.
//
// It keeps the same contract as every store (dedupe.Store). A batch is one transaction; when a call returns nil, the
// write-ahead log is on the disk (synchronous=FULL), so that neither a killed process nor a lost power supply undoes it.
// The file is locked exclusively for as long as the store is open: a second process gets ErrHeld. Its clock is the wall
// clock of the process, read once per batch.
package sqlite

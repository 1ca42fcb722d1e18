package sqlite

import (
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// code is SQLite's primary result code, 0 for other errors.
func code(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code() & 0xff
	}
	return 0
}

// held adds ErrHeld to a lock that another process has.
func held(err error) error {
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w (%w)", ErrHeld, err)
	}
	return err
}

// refused tells a value that SQLite does not take from a fault that may pass. The transaction is rolled back.
func refused(err error, rows int) error {
	switch code(err) {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH:
	default:
		return err
	}
	if rows > 1 {
		return fmt.Errorf("%w: %w", dedupe.ErrBatch, err)
	}
	return fmt.Errorf("%w: %w", dedupe.ErrRow, err)
}

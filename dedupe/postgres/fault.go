package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// ErrSchema tells that the database's schema is missing, or older or newer than this program can use.
var ErrSchema = errors.New("the ledger's schema cannot be used")

// fault is an error of the database without the server's words where these may quote a row.
type fault struct {
	code string // SQLSTATE
	text string
	hint string
	err  error // for errors.Is
}

func (f *fault) Error() string {
	text := "postgres: " + f.code
	if f.text != "" {
		text += " " + f.text
	}
	if f.hint != "" {
		text += " (" + f.hint + ")"
	}
	return text
}

func (f *fault) Unwrap() error { return f.err }

// fault judges an error of a transaction with some rows of the caller's. What is not one of the contract's sentinels is
// unknown: the transaction may have been committed.
func (s *Store) fault(err error, rows int) error {
	if err == nil {
		return nil
	}
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		if !errors.Is(err, context.Canceled) {
			s.names.forget() // maybe a failover: what was interned last may be lost
		}
		return fmt.Errorf("postgres: %w", err)
	}
	told := &fault{code: server.Code, text: words(server), hint: hint(server.Code), err: sentinel(server.Code, rows)}
	switch {
	case goneSchema(server.Code):
		s.ready.Store(false)
		s.names.forget()
	case failedOver(server.Code):
		// The connection is alive but leads to a server that is going away or has become a standby.
		s.names.forget()
		s.pool.Reset()
	}
	return told
}

// uncertain is the error of a call after another transaction of which was committed: what the last one surely did not do
// says nothing of the batch any more.
func uncertain(err error) error {
	if errors.Is(err, dedupe.ErrBatch) || errors.Is(err, dedupe.ErrRow) {
		return errors.New(err.Error())
	}
	return err
}

// sentinel says which branch of the contract an SQLSTATE is. With one row in the transaction that row is to blame.
func sentinel(code string, rows int) error {
	switch {
	case code == "55P03": // lock_not_available: transient even for a single row
		return dedupe.ErrBatch
	case goneSchema(code):
		return ErrSchema
	case !aboutData(code) || rows == 0:
		return nil
	case rows == 1:
		return dedupe.ErrRow
	default:
		return dedupe.ErrBatch
	}
}

// aboutData: data exceptions, integrity violations, and program limits such as an index row that is too long.
func aboutData(code string) bool {
	return class(code) == "22" || class(code) == "23" || class(code) == "54"
}

// goneSchema: undefined table, column or schema.
func goneSchema(code string) bool { return code == "42P01" || code == "42703" || code == "3F000" }

// failedOver: read-only transaction, the server shuts down, crashed or cannot connect now.
func failedOver(code string) bool {
	switch code {
	case "25006", "57P01", "57P02", "57P03":
		return true
	}
	return class(code) == "08"
}

// repeatable: a deadlock or a serialization failure. The transaction was surely rolled back.
func repeatable(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code == "40P01" || server.Code == "40001")
}

func hint(code string) string {
	if unprepared(code) {
		return "behind a pooler add default_query_exec_mode=exec to the URL"
	}
	return ""
}

// words is the server's message, unless it may quote values of a row.
func words(server *pgconn.PgError) string {
	if aboutData(server.Code) || class(server.Code) == "XX" || class(server.Code) == "P0" {
		return ""
	}
	return server.Message
}

func class(code string) string { return code[:min(2, len(code))] }

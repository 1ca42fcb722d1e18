package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	_ "modernc.org/sqlite" // the driver
)

// ErrHeld tells that another process has the ledger's file open.
var ErrHeld = errors.New("another process holds it, and an embedded ledger serves one process at a time")

// ErrOutdated tells that the ledger's schema is older than this program, and was not to be brought up to date.
var ErrOutdated = errors.New("its schema is older than this version of the sidecar")

// memory names a ledger that lives as long as the store.
const memory = ":memory:"

// Store is a dedupe.Backend in one file. It is safe for concurrent use; its calls run one after the other.
type Store struct {
	db         *sql.DB
	statements statements
	now        func() time.Time
}

var _ dedupe.Backend = (*Store)(nil)

// Open opens the ledger in a file, makes it where there is none, and brings its schema up to date. The path ":memory:" is a
// ledger that ends with the store. The error wraps ErrHeld when another process has the file open.
func Open(ctx context.Context, path string) (*Store, error) {
	return named(path)(open(ctx, path, os.O_CREATE, (*Store).migrate))
}

// OpenAsItIs opens a ledger that is there, and leaves its schema alone. The error wraps fs.ErrNotExist where there is no such
// file, ErrOutdated when the schema is older than this program, and ErrHeld when another process has the file open.
func OpenAsItIs(ctx context.Context, path string) (*Store, error) {
	return named(path)(open(ctx, path, 0, (*Store).upToDate))
}

// named has errors say which ledger.
func named(path string) func(*Store, error) (*Store, error) {
	return func(store *Store, err error) (*Store, error) {
		if err != nil {
			return nil, fmt.Errorf("ledger %s: %w", path, err)
		}
		return store, nil
	}
}

func open(ctx context.Context, path string, create int, schema func(*Store, context.Context) error) (*Store, error) {
	if path != memory {
		if err := touch(path, create); err != nil {
			return nil, err
		}
		if theirs(path) {
			return nil, errForeign
		}
	}
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, err
	}
	// One connection: it owns the file's lock, and SQLite writes one transaction at a time anyway.
	db.SetMaxOpenConns(1)
	s := &Store{db: db, now: time.Now}
	if err := s.start(ctx, schema); err != nil {
		return nil, errors.Join(held(err), db.Close())
	}
	return s, nil
}

// touch finds the file. One that it makes is readable for its owner only: it will hold what senders and the application said.
func touch(path string, create int) error {
	file, err := os.OpenFile(path, os.O_RDWR|create, 0o600)
	if err != nil {
		var failed *os.PathError
		if errors.As(err, &failed) {
			return failed.Err // the caller names the path
		}
		return err
	}
	return file.Close()
}

func dataSource(path string) string {
	settings := []string{
		"_pragma=busy_timeout(500)",
		"_pragma=locking_mode(EXCLUSIVE)", // before the log is opened: then there is no shared memory, and one owner
		"_pragma=trusted_schema(OFF)",
		"_journal_mode=WAL", // the driver applies these after the pragmas
		"_synchronous=FULL",
		"_foreign_keys=on",
		"_txlock=immediate",
	}
	escaped := (&url.URL{Path: filepath.Clean(path)}).EscapedPath()
	return "file:" + escaped + "?" + strings.Join(settings, "&")
}

func (s *Store) start(ctx context.Context, schema func(*Store, context.Context) error) error {
	if err := schema(s, ctx); err != nil {
		return err
	}
	return s.statements.prepare(ctx, s.db)
}

// Close releases the file. Calls under way fail.
func (s *Store) Close() error { return s.db.Close() }

// transact runs one batch as one transaction.
func (s *Store) transact(ctx context.Context, rows int, batch func(tx *sql.Tx, now time.Time) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := batch(tx, s.now()); err != nil {
		return errors.Join(refused(err, rows), ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// applicationID marks the files that are ledgers: "hook" in ASCII.
const applicationID = 0x686f6f6b

var (
	errForeign = errors.New("the file is a database of something else")
	errNewer   = errors.New("the ledger was written by a newer version of the sidecar")
)

//go:embed migrations/*.sql
var migrations embed.FS

// missing are the steps from the ledger's version to the newest.
func (s *Store) missing(ctx context.Context) (version int, steps []string, err error) {
	if steps, err = fs.Glob(migrations, "migrations/*.sql"); err != nil { // sorted by name, and so by number
		return 0, nil, err
	}
	if version, err = s.version(ctx); err != nil {
		return 0, nil, err
	}
	if version > len(steps) {
		return 0, nil, errNewer
	}
	return version, steps[version:], nil
}

// upToDate is an error where the schema is not of the newest version.
func (s *Store) upToDate(ctx context.Context) error {
	_, steps, err := s.missing(ctx)
	if err == nil && len(steps) > 0 {
		err = ErrOutdated
	}
	return err
}

// migrate brings the schema to the newest version. Each step is one transaction.
func (s *Store) migrate(ctx context.Context) error {
	version, steps, err := s.missing(ctx)
	if err != nil {
		return err
	}
	for number, name := range steps {
		if err := s.step(ctx, name, version+number+1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// version is the schema's. Reading it in a write transaction takes the file's lock before anything is believed.
func (s *Store) version(ctx context.Context) (int, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	var version, application, tables int
	const query = `SELECT v.user_version, a.application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version AS v, pragma_application_id AS a`
	err = tx.QueryRowContext(ctx, query).Scan(&version, &application, &tables)
	if err == nil && application != applicationID && tables > 0 {
		err = errForeign
	}
	return version, errors.Join(err, ignoreDone(tx.Commit()))
}

func (s *Store) step(ctx context.Context, name string, version int) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version, applicationID))
		return err
	})
}

func (s *Store) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrateLockTimeout bounds each wait for a lock while migrating; replicas that start together wait for one another.
const migrateLockTimeout = "60s"

// migratedSQL reads the catalog's tables. to_regclass would answer from a cache that does not notice what others created
// while this transaction waited for its turn.
const migratedSQL = `SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = 'migrations')`

// migration is one step of the schema. Its first line says "-- oldest: N": a program that knows the schema up to N still
// works with the schema after this step. Additive steps keep the number, others raise it.
type migration struct {
	version int
	oldest  int
	sql     string
}

func migrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]migration, len(names))
	for i, name := range names { // sorted by name
		if steps[i], err = parseMigration(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if steps[i].version != i+1 {
			return nil, fmt.Errorf("%s: want number %d", name, i+1)
		}
	}
	return steps, nil
}

func parseMigration(name string) (migration, error) {
	data, err := migrationFiles.ReadFile(name)
	if err != nil {
		return migration{}, err
	}
	number, _, _ := strings.Cut(path.Base(name), "_")
	version, err := strconv.Atoi(number)
	if err != nil {
		return migration{}, err
	}
	first, _, _ := strings.Cut(string(data), "\n")
	oldest, err := strconv.Atoi(strings.TrimPrefix(first, "-- oldest: "))
	return migration{version: version, oldest: oldest, sql: string(data)}, err
}

// Migrate brings the schema up to date. Many replicas may call it at once; one does the work. It is an error (ErrSchema)
// when the schema is newer than this program can use.
func (s *Store) Migrate(ctx context.Context) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	if err := s.checkSchema(ctx); err == nil && s.ready.Load() {
		return nil
	}
	ctx, cancel := s.bounded(ctx, scanPatience)
	defer cancel()
	err = s.whole(func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.migrate(ctx, tx, steps) })
	})
	if errors.Is(err, ErrSchema) {
		return err
	}
	if err != nil {
		return s.fault(err, 0)
	}
	s.ready.Store(true)
	return nil
}

// migrate runs in a transaction. The lock is the transaction's, since a pooler may not keep the session.
func (s *Store) migrate(ctx context.Context, tx pgx.Tx, steps []migration) error {
	schema := schemaOf(s.config.Namespace)
	sum := sha256.Sum256([]byte(schema))
	lock := int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
	if _, err := tx.Exec(ctx, scanGuard, migrateLockTimeout); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lock); err != nil {
		return err
	}
	at, err := s.version(ctx, tx)
	if err != nil {
		return err
	}
	if err := at.usable(len(steps)); err != nil || at.version >= len(steps) {
		return err
	}
	if at.version == 0 {
		if err := s.createSchema(ctx, tx, schema); err != nil {
			return err
		}
	}
	for _, step := range steps[at.version:] {
		if err := s.apply(ctx, tx, step); err != nil {
			return err
		}
	}
	return nil
}

// createSchema leaves a schema alone that an administrator has made for a role that may not create any.
func (s *Store) createSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+s.sql.schema); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "CREATE TABLE "+s.sql.schema+`.migrations (
		version integer PRIMARY KEY, oldest integer NOT NULL, applied timestamptz NOT NULL DEFAULT now())`)
	return err
}

func (s *Store) apply(ctx context.Context, tx pgx.Tx, step migration) error {
	sql := strings.ReplaceAll(step.sql, "{schema}", s.sql.schema)
	if _, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO "+s.sql.schema+".migrations (version, oldest) VALUES ($1, $2)",
		step.version, step.oldest)
	return err
}

// schemaVersion is what a database's schema says of itself; zero: there is none.
type schemaVersion struct{ version, oldest int }

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (s *Store) version(ctx context.Context, q querier) (schemaVersion, error) {
	var at schemaVersion
	var exists bool
	err := q.QueryRow(ctx, migratedSQL, schemaOf(s.config.Namespace)).Scan(&exists)
	if err != nil || !exists {
		return at, err
	}
	err = q.QueryRow(ctx, "SELECT coalesce(max(version), 0), coalesce(max(oldest), 0) FROM "+s.sql.schema+".migrations").
		Scan(&at.version, &at.oldest)
	return at, err
}

// usable tells whether a program that knows so many steps can use the schema as it is, or once it is brought up to date.
func (v schemaVersion) usable(known int) error {
	if v.version > known && v.oldest > known {
		return fmt.Errorf("%w: it has version %d, which needs a program that knows version %d; this one knows %d",
			ErrSchema, v.version, v.oldest, known)
	}
	return nil
}

// checkSchema looks without changing anything.
func (s *Store) checkSchema(ctx context.Context) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx, 1)
	defer cancel()
	var at schemaVersion
	err = s.whole(func() error {
		at, err = s.version(ctx, s.pool)
		return err
	})
	if err != nil {
		return s.fault(err, 0)
	}
	if err := at.usable(len(steps)); err != nil {
		return err
	}
	if at.version == 0 {
		return fmt.Errorf("%w: there is none in the namespace %s; run `sidecar migrate`", ErrSchema, s.config.Namespace)
	}
	if at.version < len(steps) {
		return fmt.Errorf("%w: it has version %d, wanted is %d; run `sidecar migrate`", ErrSchema, at.version, len(steps))
	}
	s.ready.Store(true)
	return nil
}

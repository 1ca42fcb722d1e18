package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

var _ dedupe.Backend = (*Store)(nil)

// Store is a dedupe.Backend on PostgreSQL. All methods are safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	config Config
	sql    statements
	names  *names
	ready  atomic.Bool // the schema was seen to be usable
	lock   string      // Config.LockTimeout as PostgreSQL writes it
	kept   atomic.Bool // the last moves met kept requests
	lent   atomic.Bool // a pooler lends connections out without regard to their prepared statements

	expired   frontier // of claims whose lease has run out
	forgotten frontier // of receipts whose time is over
	due       horizon  // of jobs

	sample int64 // bytes of a table that are looked at to measure it
}

// Open prepares a store. It connects to nothing: the database may be away, and the first call finds out.
func Open(_ context.Context, config Config) (*Store, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	poolConfig, err := config.pool()
	if err != nil {
		return nil, err
	}
	s := &Store{config: config, sql: statementsOf(config.Namespace), lock: milliseconds(config.LockTimeout), sample: wholeHeap,
		expired: frontier{often: true}}
	s.names = newNames(s)
	poolConfig.BeforeConnect, poolConfig.AfterConnect = s.plain, s.guard
	// The pool outlives whoever opened it.
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), poolConfig); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends all connections; running calls are waited for.
func (s *Store) Close() { s.pool.Close() }

// Ping tells whether the database answers and its schema can be used; with migrations on, it brings the schema up to
// date.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx, 1)
	defer cancel()
	return s.fault(s.pool.Ping(ctx), 0)
}

// bounded gives a call a deadline of its own. The caller's end must not cancel a running statement, because that closes
// the connection and a crowd of impatient callers would make the server do nothing but accept connections.
func (s *Store) bounded(ctx context.Context, patience int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Duration(patience)*s.config.Timeout)
}

// prepare makes sure, once, that the schema can be used.
func (s *Store) prepare(ctx context.Context) error {
	if s.ready.Load() {
		return nil
	}
	if !s.config.NoMigrate {
		return s.Migrate(ctx)
	}
	return s.checkSchema(ctx)
}

func micros(d time.Duration) int64 { return d.Microseconds() }

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// plain keeps new connections from preparing statements once a pooler was seen to mix them up.
func (s *Store) plain(_ context.Context, config *pgx.ConnConfig) error {
	if s.lent.Load() && prepares(config.DefaultQueryExecMode) {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return nil
}

func prepares(mode pgx.QueryExecMode) bool {
	return mode == pgx.QueryExecModeCacheStatement || mode == pgx.QueryExecModeCacheDescribe ||
		mode == pgx.QueryExecModeDescribeExec
}

// mixedUp tells that a transaction met a server process that had another client's prepared statements instead of ours, and
// was surely rolled back. From then on nothing is prepared, so it can be repeated as a whole.
func (s *Store) mixedUp(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) || !unprepared(server.Code) {
		return false
	}
	if !s.lent.Swap(true) {
		s.pool.Reset()
	}
	return true
}

// whole repeats what fails because of a pooler's mix-up: statements of one transaction, or a statement of its own.
func (s *Store) whole(do func() error) error {
	err := do()
	for try := 1; try < maxTries && s.mixedUp(err); try++ {
		err = do()
	}
	return err
}

// unprepared: a prepared statement that exists already, or does not.
func unprepared(code string) bool { return code == "42P05" || code == "26000" }

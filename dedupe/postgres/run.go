package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxTries bounds how often a transaction is repeated as a whole after a deadlock or a serialization failure.
const maxTries = 5

// guardSQL opens every transaction. Settings are the transaction's own, so that a pooler may give the connection to
// somebody else afterwards. The planner must not be misled by the statistics of an empty or a young table: what is cached
// on a table of one page would read the whole of a table of millions.
const guardSQL = `SELECT set_config('lock_timeout', $1, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// scanFunc reads one row of an answer.
type scanFunc func(pgx.Rows) error

// run executes one statement as a transaction of its own, in one round trip: statements that are sent together without
// BEGIN are one transaction. rows is how many rows of the caller's are in it, for the judgement of errors. reset is called
// before each try.
func (s *Store) run(ctx context.Context, rows int, statement string, args []any, reset func(), scan scanFunc) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	for try := 1; ; try++ {
		reset()
		err := s.once(ctx, statement, args, scan)
		if err == nil {
			return nil
		}
		if try == maxTries || !repeatable(err) {
			return s.fault(err, rows)
		}
	}
}

func (s *Store) once(ctx context.Context, statement string, args []any, scan scanFunc) error {
	var batch pgx.Batch
	batch.Queue(guardSQL, s.lock)
	batch.Queue(statement, args...)
	results := s.pool.SendBatch(ctx, &batch)
	err := collect(results, scan)
	if closing := results.Close(); err == nil {
		err = closing // the commit's
	}
	return err
}

func collect(results pgx.BatchResults, scan scanFunc) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", max(1, d.Milliseconds())) }

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxTries bounds how often a transaction is repeated as a whole after a deadlock or a serialization failure.
const maxTries = 5

// Every transaction begins with one of these. Settings are the transaction's own, so that a pooler may give the connection
// to somebody else afterwards. A plan is made once and kept, so the planner must not be misled by the statistics of an empty
// or a young table, or one that is full of dead rows: what is best for a table of one page would read all of a table of
// millions.
const (
	// lookupGuard is for statements whose look-ups are subqueries with a LIMIT of their own: no table is joined as a whole.
	lookupGuard = `SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true)`
	// changeGuard is for updates and deletes, which can only join. A bitmap scan, unlike an index scan, is never of the
	// whole index, so nothing is left but to look each row up by its key.
	changeGuard = lookupGuard + `, set_config('enable_indexscan', 'off', true),
       set_config('enable_indexonlyscan', 'off', true)`
	// scanGuard is for what reads the whole table.
	scanGuard = `SELECT set_config('lock_timeout', $1, true), set_config('jit', 'off', true)`
)

// scanPatience is how many times as long as others a call that reads the whole table may take.
const scanPatience = 8

// call is one statement, which is a transaction of its own.
type call struct {
	guard string
	sql   string
	args  []any
	rows  int                  // how many rows of the caller's are in it, for the judgement of errors
	begin func()               // before each try; nil: nothing
	scan  func(pgx.Rows) error // reads one row of the answer; nil: there is none
}

// run makes a call in one round trip: statements that are sent together without BEGIN are one transaction.
func (s *Store) run(ctx context.Context, c call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx, c.patience())
	defer cancel()
	for try := 1; ; try++ {
		if c.begin != nil {
			c.begin()
		}
		err := s.once(ctx, &c)
		if err == nil {
			return nil
		}
		if try == maxTries || !repeatable(err) {
			return s.fault(err, c.rows)
		}
	}
}

func (c *call) patience() int {
	if c.guard == scanGuard {
		return scanPatience
	}
	return 1
}

func (s *Store) once(ctx context.Context, c *call) error {
	var batch pgx.Batch
	batch.Queue(c.guard, s.lock)
	batch.Queue(c.sql, c.args...)
	results := s.pool.SendBatch(ctx, &batch)
	err := collect(results, c.scan)
	if closing := results.Close(); err == nil {
		err = closing // the commit's
	}
	return err
}

func collect(results pgx.BatchResults, scan func(pgx.Rows) error) error {
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

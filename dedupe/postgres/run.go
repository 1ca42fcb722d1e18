package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// maxTries bounds how often a transaction is repeated as a whole after a deadlock or a serialization failure.
const maxTries = 5

// Every transaction has one of these, and each sets everything. A plan is made once and kept, so the planner must not be
// misled by the statistics of an empty or a young table, or one that is full of dead rows: what is best for a table of one
// page would read all of a table of millions.
//
// A transaction begins with its guard and makes it its own, so that a pooler may give the connection to somebody else
// afterwards. Only keyGuard, which the hot calls have, is left to the session where the session is surely ours.
const (
	// keyGuard is for what looks rows up by their keys. A bitmap scan, unlike an index scan, is never of the whole index,
	// so nothing is left but to look each row up.
	keyGuard = `SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_indexscan', 'off', true), set_config('enable_indexonlyscan', 'off', true)`
	// lookupGuard is for statements whose look-ups are subqueries with a LIMIT of their own, or read an index in its order.
	lookupGuard = `SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true)`
	// sweepGuard is lookupGuard for what takes the first rows of an index: never all of them, to sort them then.
	sweepGuard = `SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true),
       set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`
	// scanGuard is for what reads the whole table.
	scanGuard = `SELECT set_config('lock_timeout', $1, true), set_config('plan_cache_mode', 'auto', true),
       set_config('jit', 'off', true), set_config('enable_seqscan', 'on', true),
       set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true)`
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

// run makes a call in one round trip, again as long as the server says that it broke it off.
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
		if try == maxTries || !repeatable(err) && !s.mixedUp(err) {
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

// once makes a call. Statements that are sent together without BEGIN are one transaction.
func (s *Store) once(ctx context.Context, c *call) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if c.guard == keyGuard && guarded(conn.Conn()) {
		rows, err := conn.Query(ctx, c.sql, lend(c.args)...)
		if err != nil {
			return err
		}
		return collect(rows, c.scan)
	}
	var batch pgx.Batch
	batch.Queue(c.guard, s.lock)
	batch.Queue(c.sql, c.args...)
	results := conn.SendBatch(ctx, &batch)
	err = second(results, c.scan)
	if closing := results.Close(); err == nil {
		err = closing // the commit's
	}
	return err
}

// second reads the answer behind the guard's.
func second(results pgx.BatchResults, scan func(pgx.Rows) error) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	return collect(rows, scan)
}

// collect reads an answer to its end, which for a statement of its own is the commit's.
func collect(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", max(1, d.Milliseconds())) }

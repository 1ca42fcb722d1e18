package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sessionGuard is keyGuard for a whole session. It sets nothing unless the server process that runs it is the one that
// the connection was given to: a pooler that lends its connections out says a number of its own.
const sessionGuard = `SELECT set_config('lock_timeout', $1, false), set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('jit', 'off', false), set_config('enable_seqscan', 'off', false),
       set_config('enable_indexscan', 'off', false), set_config('enable_indexonlyscan', 'off', false)
WHERE pg_backend_pid() = $2`

// guardedKey is where a connection keeps whether its session has keyGuard.
const guardedKey = "guarded"

// guard gives a new connection its session's guard, if nobody stands between it and the server. A mode in which nothing
// is prepared is how somebody says that a pooler does.
func (s *Store) guard(ctx context.Context, conn *pgx.Conn) error {
	if conn.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return nil
	}
	told, err := conn.Exec(ctx, sessionGuard, pgx.QueryExecModeExec, s.lock, int32(conn.PgConn().PID()))
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return nil // every transaction has its guard
	}
	conn.PgConn().CustomData()[guardedKey] = err == nil && told.RowsAffected() == 1
	return err
}

func guarded(conn *pgx.Conn) bool {
	is, _ := conn.PgConn().CustomData()[guardedKey].(bool)
	return is
}

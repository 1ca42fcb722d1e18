package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Config is how a store reaches its database.
type Config struct {
	// URL is any libpq URL or keyword string; several hosts are tried in order. A server that refuses writes is passed
	// over, unless target_session_attrs says otherwise.
	URL string
	// Namespace names the schema sidecar_<namespace>: 1 to 55 of a-z 0-9 _ -.
	Namespace string
	// MaxConns bounds the connections; default 4, or pool_max_conns of the URL. Calls are grouped, so few are needed.
	MaxConns int
	// NoMigrate leaves the schema alone: a missing or old one is ErrSchema. Else the first call brings it up to date.
	NoMigrate bool
	// Timeout bounds a call, connecting included; default 10 s. A call that runs into it loses its connection.
	Timeout time.Duration
	// LockTimeout bounds how long a transaction waits for a row that somebody locks; default 500 ms.
	LockTimeout time.Duration
	// Tracer, if set, sees connections, batches and queries. It must not record arguments.
	Tracer pgx.QueryTracer
}

const (
	defaultConns       = 4
	defaultTimeout     = 10 * time.Second
	defaultLockTimeout = 500 * time.Millisecond
	connectTimeout     = 5 * time.Second // per host
	pingAfter          = 5 * time.Second
	applicationName    = "webhook-sidecar"
	maxNamespace       = 55 // with the prefix 63 bytes, an identifier's limit
)

func (c Config) withDefaults() (Config, error) {
	if c.Timeout < 0 || c.LockTimeout < 0 || c.MaxConns < 0 {
		return c, errors.New("postgres: negative timeouts or connections")
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = defaultLockTimeout
	}
	return c, checkNamespace(c.Namespace)
}

func checkNamespace(name string) error {
	if name == "" || len(name) > maxNamespace {
		return fmt.Errorf("namespace has %d bytes, want 1 to %d", len(name), maxNamespace)
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return fmt.Errorf("namespace %q has a character outside a-z 0-9 _ -", name)
		}
	}
	return nil
}

// pool is the pool's configuration. Nothing in it is sent as a startup parameter that a PgBouncer refuses.
func (c Config) pool() (*pgxpool.Config, error) {
	pool, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case c.MaxConns > 0:
		pool.MaxConns = int32(min(c.MaxConns, 1<<20))
	case !strings.Contains(c.URL, "pool_max_conns"):
		pool.MaxConns = defaultConns
	}
	conn := pool.ConnConfig
	if conn.ValidateConnect == nil && !strings.Contains(c.URL, "target_session_attrs") {
		conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if !strings.Contains(c.URL, "connect_timeout") {
		conn.ConnectTimeout = connectTimeout
	}
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = applicationName
	}
	conn.Tracer = c.Tracer
	// The library asks for a sign of life after a second already, which would double what an idle process asks.
	pool.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > pingAfter }
	return pool, nil
}

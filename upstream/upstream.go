package upstream

import (
	"context"
	"time"
)

// Upstream makes attempts at the application. It is safe for concurrent use.
type Upstream struct {
	config Config
	dialer *dialer
	pool   *pool
}

// New makes an Upstream without connecting. The error names what is wrong with the URL.
func New(c Config) (*Upstream, error) {
	c = c.withDefaults()
	dialer, err := newDialer(c)
	if err != nil {
		return nil, err
	}
	return &Upstream{config: c, dialer: dialer, pool: newPool(c.IdleConns, c.IdleTimeout)}, nil
}

// Reachable makes one TCP connection to the application and closes it. Errors wrap ErrUnreachable.
func (u *Upstream) Reachable(ctx context.Context) error {
	connection, err := u.dialer.dial(ctx, time.Time{})
	if err != nil {
		return err
	}
	return connection.Close()
}

// Close drops unused connections, and each one in use when its attempt is over. Attempts still work afterwards.
func (u *Upstream) Close() { u.pool.close() }

package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrUnreachable means that no connection to the application could be made. No byte of a request was sent.
var ErrUnreachable = errors.New("application unreachable")

// ErrIncomplete means that the application closed the connection, or what it answered is cut off or no HTTP.
var ErrIncomplete = errors.New("answer incomplete")

// ErrTimedOut means that the application took too long: Passthrough reports it where it is the cause of the end of a request's
// context.
var ErrTimedOut = errors.New("application too slow")

// dialer connects to the application. It is immutable and safe for concurrent use.
type dialer struct {
	addresses []string
	authority string // host:port, where a request brings no Host
	timeout   time.Duration
}

func newDialer(c Config) (*dialer, error) {
	host, port, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	return &dialer{addresses: addresses(host, port), authority: net.JoinHostPort(host, port), timeout: c.DialTimeout}, nil
}

// dial tries the application's addresses in turn. A zero deadline is none. Errors wrap ErrUnreachable.
func (d *dialer) dial(ctx context.Context, deadline time.Time) (*net.TCPConn, error) {
	plain := net.Dialer{Timeout: d.timeout, Deadline: deadline, KeepAlive: -1}
	var failure error
	for _, address := range d.addresses {
		connection, err := plain.DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.(*net.TCPConn), nil
		}
		failure = errors.Join(failure, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, failure)
}

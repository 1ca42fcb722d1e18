package upstream

import (
	"net/http"
	"sync"
	"time"
)

// Passthrough hands requests to the application as if nothing stood between: target, fields and body as they came,
// streaming both ways, interim answers, trailers and upgrades. It removes what belongs to the connection, every
// Sidecar-* field, X-Original-URL and X-Rewrite-URL, and adds the peer to X-Forwarded-For. An upgrade to h2c is not
// passed on as one. It is safe for concurrent use and has no time limits except for connecting.
//
// A request is sent once. The exception is a GET, HEAD, OPTIONS or TRACE without a body on a connection that the
// application closed at the very moment it was used again, before a byte of an answer.
type Passthrough struct {
	config   Config
	dialer   *dialer
	pool     *pool
	http2    *http.Transport
	switches *switches
	buffers  sync.Pool     // of *copyBuffer
	grace    time.Duration // bodyGrace, but in tests that are not about it
	patience time.Duration // expectPatience, likewise
}

// copyBuffer is large enough for good speed, and its length has at most four hexadecimal digits.
type copyBuffer [32 << 10]byte

// NewPassthrough makes a Passthrough without connecting. The error names what is wrong with the URL.
func NewPassthrough(c Config) (*Passthrough, error) {
	c = c.withDefaults()
	dialer, err := newDialer(c)
	if err != nil {
		return nil, err
	}
	p := &Passthrough{
		config: c, dialer: dialer, pool: newPool(c.IdleConns, c.IdleTimeout), http2: newHTTP2(dialer), switches: newSwitches(),
		grace: bodyGrace, patience: expectPatience,
	}
	p.buffers.New = func() any { return new(copyBuffer) }
	return p, nil
}

// Close drops unused connections, and each one in use when its exchange is over.
func (p *Passthrough) Close() {
	p.pool.close()
	p.http2.CloseIdleConnections()
}

// ServeHTTP passes a request on. Where the answer breaks off after its header section, or the sender is gone, it
// panics with http.ErrAbortHandler, so that nobody takes the answer for complete.
func (p *Passthrough) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor >= 2 {
		p.serveHTTP2(w, r)
		return
	}
	x := passage{Passthrough: p, w: w, r: r, control: http.NewResponseController(w), upgrade: upgradeOf(r.Header)}
	if err := x.run(); err != nil {
		x.fail(err)
	}
}

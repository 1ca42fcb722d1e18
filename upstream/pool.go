package upstream

import (
	"sync"
	"time"
)

// keptScratch bounds the memory that an unused connection holds for its next request.
const keptScratch = 32 << 10

// pool keeps unused connections, the latest on top. It is safe for concurrent use.
type pool struct {
	mu     sync.Mutex
	idle   []*conn
	most   int
	sweep  *time.Timer // runs while there is something to sweep
	every  time.Duration
	closed bool
}

func newPool(most int, timeout time.Duration) *pool {
	return &pool{most: max(most, 0), every: timeout}
}

// take returns a connection that is still open, with its deadline set, or nil. A zero deadline is none.
func (p *pool) take(now, deadline time.Time) *conn {
	for {
		c := p.pop()
		if c == nil {
			return nil
		}
		// The deadline comes first, because one that is over would spoil the look at the socket.
		if now.Sub(c.idleSince) < c.idleFor && c.SetDeadline(deadline) == nil && c.silent() {
			c.reused = true
			return c
		}
		_ = c.Close()
	}
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// put keeps a connection for another exchange, or closes it.
func (p *pool) put(c *conn, now time.Time) {
	c.idleSince = now
	if cap(c.scratch) > keptScratch {
		c.scratch = nil
	}
	p.mu.Lock()
	full := p.closed || len(p.idle) >= p.most
	if !full {
		p.idle = append(p.idle, c)
		if p.sweep == nil {
			p.sweep = time.AfterFunc(p.every, p.expire)
		}
	}
	p.mu.Unlock()
	if full {
		_ = c.Close()
	}
}

// expire closes what nobody has used for too long, so that an application can end connections in peace.
func (p *pool) expire() {
	now := time.Now()
	var expired []*conn
	p.mu.Lock()
	kept := p.idle[:0]
	for _, c := range p.idle {
		if now.Sub(c.idleSince) < c.idleFor {
			kept = append(kept, c)
		} else {
			expired = append(expired, c)
		}
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	p.sweep = nil
	if len(kept) > 0 && !p.closed {
		p.sweep = time.AfterFunc(p.every/2, p.expire)
	}
	p.mu.Unlock()
	closeAll(expired)
}

// close drops what is kept, and whatever comes back later.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.mu.Unlock()
	closeAll(idle)
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

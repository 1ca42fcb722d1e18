package upstream

import (
	"context"
	"sync"
)

// switches counts the connections that carry bytes after a switch of protocols. A server knows nothing of them any more.
type switches struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when the count is back at 0; nil: nobody waits for that
	cut   chan struct{} // closed: they are to end
	once  sync.Once
}

func newSwitches() *switches { return &switches{cut: make(chan struct{})} }

func (s *switches) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
}

func (s *switches) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count--; s.count == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// empty is closed as soon as the count is 0.
func (s *switches) empty() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	none := s.none
	if none == nil {
		none = make(chan struct{})
		if s.count == 0 {
			close(none)
		} else {
			s.none = none
		}
	}
	return none
}

// Drain waits until every connection that has switched protocols has ended, which http.Server's Shutdown does not: it comes
// after that. When ctx ends, whatever is left is cut off, and whatever switches later; the error is ctx's cause then.
func (p *Passthrough) Drain(ctx context.Context) error {
	select {
	case <-p.switches.empty():
		return nil
	case <-ctx.Done():
		p.switches.once.Do(func() { close(p.switches.cut) })
		return context.Cause(ctx)
	}
}

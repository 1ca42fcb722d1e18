package postgres

import (
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	// swiftMargin is how long an ordinary transaction takes to commit: most looks go back no further.
	swiftMargin = 5 * time.Second
	// deepLook is how often a look goes back by commitMargin all the same.
	deepLook = 30 * time.Second
)

// horizon remembers, for each scope, where a look for due jobs must begin. Its reason is the frontier's; but looks for jobs
// come many a second, and jobs that are due may stay. By the database's clock. Safe for concurrent use.
type horizon struct {
	mu     sync.Mutex
	now    time.Time // of the last look
	scopes map[delivery.Scope]*margin
}

// margin is one scope's.
type margin struct {
	oldest     time.Time // no job that was committed before the last look is due before this
	deep, full time.Time // when the last looks of these kinds began; zero: never
}

// reach is how far back one look goes.
type reach struct {
	since      time.Time // zero: everything
	deep, full bool
}

// next says where a look at each scope is to begin.
func (h *horizon) next(scopes []delivery.Scope) []reach {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]reach, len(scopes))
	for i, scope := range scopes {
		switch m := h.scopes[scope]; {
		case m == nil || h.now.Sub(m.full) > fullLook:
			list[i] = reach{deep: true, full: true}
		case h.now.Sub(m.deep) > deepLook:
			list[i] = reach{since: m.oldest.Add(-commitMargin), deep: true}
		default:
			list[i] = reach{since: m.oldest.Add(-swiftMargin)}
		}
	}
	return list
}

// saw tells what looks that went so far found: the oldest due time of each scope's rows, if any. A clock that went back
// ends all that is known.
func (h *horizon) saw(scopes []delivery.Scope, went []reach, oldest map[delivery.Scope]time.Time, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.scopes == nil || now.Before(h.now) {
		h.scopes = map[delivery.Scope]*margin{}
	}
	h.now = now
	for i, scope := range scopes {
		m := h.scopes[scope]
		if m == nil {
			m = &margin{}
			if !went[i].full {
				continue // it was forgotten meanwhile
			}
			h.scopes[scope] = m
		}
		m.oldest = now
		if first, found := oldest[scope]; found {
			m.oldest = first
		}
		if went[i].deep {
			m.deep = now
		}
		if went[i].full {
			m.full = now
		}
	}
}

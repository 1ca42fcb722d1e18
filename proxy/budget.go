package proxy

import (
	"sync"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// share is the part of the budget that one integration may hold: a quarter, so that a flood on one leaves room for the
// others.
const share = 4

// budget bounds the bytes of bodies that are being handled at once. Safe for concurrent use.
type budget struct {
	total int64

	mu    sync.Mutex
	held  int64
	scope map[delivery.Scope]int64
}

func newBudget(total int64) *budget {
	return &budget{total: total, scope: map[delivery.Scope]int64{}}
}

// take charges n bytes to a scope; false when that is too many, and nothing is charged.
func (b *budget) take(scope delivery.Scope, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.total || b.scope[scope]+n > b.total/share {
		return false
	}
	b.held += n
	b.scope[scope] += n
	return true
}

// release gives back what was taken.
func (b *budget) release(scope delivery.Scope, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.scope[scope] -= n; b.scope[scope] == 0 {
		delete(b.scope, scope)
	}
}

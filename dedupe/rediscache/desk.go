package rediscache

import (
	"context"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Desk makes the desk of the same ledger forget what it reopens. It works without Run.
func (c *Cache) Desk(desk dedupe.Desk) dedupe.Desk { return &forgetful{Desk: desk, cache: c} }

// forgetful is a desk before a cache. Only Reopen ends the truth of something that is cached.
type forgetful struct {
	dedupe.Desk
	cache *Cache
}

// Reopen marks the event's key in Redis before the ledger reopens it, so that there is no moment in which the old result
// could be learned again; the package's documentation tells why. A Redis out of reach does not keep a person from
// reopening: Stats.Unmarked counts it.
func (f *forgetful) Reopen(ctx context.Context, scope delivery.Scope, id delivery.EventID, by dedupe.Act) error {
	f.cache.mark(scope, id)
	err := f.Desk.Reopen(ctx, scope, id, by)
	f.cache.memory.drop(dedupe.Key{Scope: scope, EventID: id})
	return err
}

func (c *Cache) mark(scope delivery.Scope, id delivery.EventID) {
	if c.shared == nil {
		return
	}
	key := c.key(scope, id)
	if !c.shared.mark(key, c.sealer.Seal(scope, id, encodeReopened(key, scope, id))) {
		c.counts.unmarked.Add(1)
	}
}

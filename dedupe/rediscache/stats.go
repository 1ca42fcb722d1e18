package rediscache

import (
	"context"
	"sync/atomic"
	"time"
)

// Tier is who answered a delivery.
type Tier uint8

// The tiers.
const (
	Local  Tier = iota + 1 // this process's memory
	Shared                 // Redis
	Ledger                 // the ledger: a miss
	Stale                  // Redis, with a fact that is older than is trusted, since the ledger failed
)

// String is the tier as it stands in metrics.
func (t Tier) String() string {
	switch t {
	case Local:
		return "local"
	case Shared:
		return "redis"
	case Stale:
		return "stale"
	default:
		return "ledger"
	}
}

// Observer is told, in the delivery's own goroutine, who answered it. It must be quick and safe for concurrent use.
type Observer interface {
	// Answered: ctx is the delivery's; redis is how long it waited for Redis, 0 if Redis was not asked.
	Answered(ctx context.Context, tier Tier, redis time.Duration)
}

// Stats are counters since the start, and what is there now.
type Stats struct {
	Local, Shared, Ledger, Stale uint64 // deliveries by the tier that answered

	Errors   uint64 // commands to Redis that failed, or were not answered in time
	Foreign  uint64 // values from Redis that were not of their event
	Unopened uint64 // values from Redis under a key that is not at hand, or not sealed where they should be
	Stored   uint64 // values that Redis was asked to keep
	Dropped  uint64 // reads and writes that were left out, because too many waited or Redis is not well
	Unmarked uint64 // reopened events whose key in Redis could not be marked: it is believed for up to an hour
	Bytes    int    // of local memory
	Entries  int    // of local memory
	Redis    bool   // Redis is configured
	Open     bool   // Redis is not being asked, because it does not answer
}

// counts are the running numbers behind Stats.
type counts struct {
	tiers                                                [Stale + 1]atomic.Uint64
	errors, foreign, stored, dropped, unmarked, unopened atomic.Uint64
}

// Stats returns the counters. Safe for concurrent use.
func (c *Cache) Stats() Stats {
	s := Stats{
		Local: c.counts.tiers[Local].Load(), Shared: c.counts.tiers[Shared].Load(),
		Ledger: c.counts.tiers[Ledger].Load(), Stale: c.counts.tiers[Stale].Load(),
		Errors: c.counts.errors.Load(), Foreign: c.counts.foreign.Load(), Stored: c.counts.stored.Load(),
		Dropped: c.counts.dropped.Load(), Unmarked: c.counts.unmarked.Load(), Unopened: c.counts.unopened.Load(),
	}
	s.Entries, s.Bytes = c.memory.size()
	if c.shared != nil {
		s.Redis, s.Open = true, !c.shared.breaker.closed.Load()
	}
	return s
}

package rediscache

import (
	"context"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// recollection is what is known before the ledger is asked.
type recollection struct {
	decision dedupe.Decision
	tier     Tier          // 0: nothing is known
	redis    time.Duration // what Redis cost
	skipped  bool          // Redis could have been asked
}

func (c *Cache) recall(ctx context.Context, r *dedupe.Request, now time.Time) recollection {
	if payload, found := c.memory.get(keyOf(r), now); found {
		if f, what := decode(payload, r.Scope, r.EventID); what == ours {
			d, sure := f.decide(r, now)
			if !sure {
				return recollection{}
			}
			return recollection{decision: d, tier: Local}
		}
	}
	if c.shared == nil || !c.shared.breaker.closed.Load() {
		return recollection{}
	}
	if !c.worth.asking() {
		return recollection{skipped: true}
	}
	known := c.recallShared(ctx, r, now)
	c.worth.saw(known.tier != 0)
	return known
}

// recallShared asks Redis. What it confirms is as fresh as the time when it was asked.
func (c *Cache) recallShared(ctx context.Context, r *dedupe.Request, asked time.Time) recollection {
	key := c.key(r.Scope, r.EventID)
	began := time.Now()
	value := c.shared.get(ctx, key)
	known := recollection{redis: time.Since(began)}
	if value == nil {
		return known
	}
	f, what := c.open(key, value, r)
	if what != ours {
		return known
	}
	d, sure := f.decide(r, asked)
	switch {
	case !sure || !asked.Before(f.expires):
	case f.trusted(asked):
		known.decision, known.tier = d, Shared
		c.memory.put(keyOf(r), payloadOf(value), earlier(asked.Add(localLife), f.expires))
	default:
		known.decision, known.tier = d, Stale
	}
	return known
}

// open reads a value from Redis, and tells the breaker whether it was one of ours.
func (c *Cache) open(key string, value []byte, r *dedupe.Request) (fact, int) {
	var f fact
	what := foreign
	if payload, fine := unseal(key, value); fine && len(value) <= c.maxValue {
		f, what = decode(payload, r.Scope, r.EventID)
	}
	if what == foreign {
		c.counts.foreign.Add(1)
		c.shared.breaker.foreign()
	} else {
		c.shared.breaker.familiar()
	}
	return f, what
}

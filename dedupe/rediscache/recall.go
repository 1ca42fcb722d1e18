package rediscache

import (
	"context"
	"errors"
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
	sealed := c.shared.get(ctx, key)
	known := recollection{redis: time.Since(began)}
	if sealed == nil {
		return known
	}
	f, value, what := c.open(key, sealed, r)
	if what != ours {
		return known
	}
	d, sure := f.decide(r, asked)
	switch {
	case !sure || !asked.Before(f.expires):
	case f.trusted(asked):
		known.decision, known.tier = d, Shared
		// As a time from now: the value knows its end by the wall clock, which may be set.
		c.memory.put(keyOf(r), payloadOf(value), asked.Add(min(localLife, f.expires.Sub(asked))))
	default:
		known.decision, known.tier = d, Stale
	}
	return known
}

// open reads a value from Redis, and tells the breaker whether it was one of ours. One under another seal, or under none
// where there should be one, tells nothing either way: replicas need not have the same keys.
func (c *Cache) open(key string, sealed []byte, r *dedupe.Request) (f fact, value []byte, what int) {
	what = foreign
	if len(sealed) <= c.maxValue {
		var err error
		value, err = c.sealer.Open(r.Scope, r.EventID, sealed)
		if err != nil && sealedElsewhere(err, key, sealed) {
			c.counts.unopened.Add(1)
			return f, nil, foreign
		}
		if payload, fine := stamped(key, value); fine {
			f, what = decode(payload, r.Scope, r.EventID)
		}
	}
	if what == foreign {
		c.counts.foreign.Add(1)
		c.shared.breaker.foreign()
	} else {
		c.shared.breaker.familiar()
	}
	return f, value, what
}

// sealedElsewhere tells a value of a replica with other keys, or without sealing, from what nobody of ours has written.
func sealedElsewhere(err error, key string, value []byte) bool {
	var why *dedupe.SealedError
	if errors.As(err, &why) && !why.Damaged {
		return true
	}
	_, plain := stamped(key, value)
	return plain
}

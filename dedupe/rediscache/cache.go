package rediscache

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Cache is a dedupe.Ledger that knows some answers by itself. Its contract is the ledger's, except that a reopened event
// may be answered from memory for 30 s. Safe for concurrent use.
type Cache struct {
	ledger    dedupe.Ledger
	namespace string
	ttl       time.Duration
	maxValue  int
	memory    *memory
	pending   *pending
	worth     *worth
	shared    *shared // nil: no Redis
	sealer    Sealer
	observer  Observer
	now       func() time.Time
	counts    counts
}

// New makes a cache before a ledger. It does not connect: Redis is first asked by Run, and is not used without. It fails
// only where the configuration is wrong; the error does not carry any part of the URL. With Redis, the driver's own log is
// switched off in the whole process.
func New(config Config) (*Cache, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Cache{
		ledger: config.Ledger, namespace: config.Namespace, ttl: config.TTL, maxValue: config.MaxValue,
		memory: newMemory(config.Entries, config.Bytes, config.Now()), pending: newPending(), worth: newWorth(),
		sealer: config.Sealer, observer: config.Observer, now: config.Now,
	}
	if config.URL != "" {
		a, err := parseAddress(config.URL)
		if err != nil {
			return nil, err
		}
		c.shared = newShared(&config, a, &c.counts)
	}
	return c, nil
}

// Run keeps the connection to Redis until ctx ends, and returns nil. To be called once.
func (c *Cache) Run(ctx context.Context) error {
	if c.shared == nil {
		<-ctx.Done()
		return nil
	}
	return c.shared.run(ctx)
}

// Close releases the connections to Redis. The cache goes on without it.
func (c *Cache) Close() error {
	if c.shared == nil {
		return nil
	}
	return c.shared.close()
}

// Claim answers from memory or Redis, and otherwise asks the ledger. Where the ledger fails, a fact from Redis that is
// too old to be trusted is better than nothing.
func (c *Cache) Claim(ctx context.Context, r dedupe.Request) (dedupe.Decision, error) {
	asked := c.now()
	d, tier, err := c.ask(ctx, &r, asked, c.ledger.Claim)
	if tier == Ledger && err == nil {
		c.learn(&r, &d, asked)
	}
	return d, err
}

// Look is like Claim, and changes nothing. Nothing is learned from it: its ages are not exact.
func (c *Cache) Look(ctx context.Context, r dedupe.Request) (dedupe.Decision, error) {
	d, _, err := c.ask(ctx, &r, c.now(), c.ledger.Look)
	return d, err
}

type askFunc func(context.Context, dedupe.Request) (dedupe.Decision, error)

func (c *Cache) ask(ctx context.Context, r *dedupe.Request, now time.Time, ledger askFunc) (dedupe.Decision, Tier, error) {
	known := c.recall(ctx, r, now)
	var err error
	if known.tier != Local && known.tier != Shared {
		known, err = c.askLedger(ctx, r, ledger, known)
	}
	c.counts.tiers[known.tier].Add(1)
	if c.observer != nil {
		c.observer.Answered(ctx, known.tier, known.redis)
	}
	return known.decision, known.tier, err
}

// askLedger asks the ledger. Where it fails, what Redis knows is better than nothing.
func (c *Cache) askLedger(ctx context.Context, r *dedupe.Request, ledger askFunc, known recollection) (recollection, error) {
	d, err := ledger(ctx, *r)
	failed := err != nil && !errors.Is(err, dedupe.ErrNotFound)
	c.worth.heard(failed)
	if known.skipped {
		c.worth.saw(d.Kind == dedupe.Replay)
	}
	if failed && known.skipped {
		known = c.recallShared(context.WithoutCancel(ctx), r, c.now()) // it has a budget of its own
	}
	if failed && known.tier != 0 && (known.tier != Stale || !sealedAway(err)) {
		return known, nil
	}
	return recollection{decision: d, tier: Ledger, redis: known.redis}, err
}

// sealedAway tells that the ledger has answered: it keeps a result that cannot be opened, which may be another one by now
// than Redis has.
func sealedAway(err error) bool {
	_, is := errors.AsType[*dedupe.SealedError](err)
	return is
}

// learn keeps what the ledger decided: a result for the next duplicate, a claim for its Settle.
func (c *Cache) learn(r *dedupe.Request, d *dedupe.Decision, asked time.Time) {
	switch {
	case d.Kind == dedupe.Replay && d.Response != nil:
		if d.Left > 0 {
			f := factOf(r, d, asked, min(c.ttl, d.Left))
			c.keep(&f)
		}
	case d.Kind == dedupe.Fresh && d.Claim.EventID == r.EventID:
		c.pending.add(d.Claim.Token, running{
			fingerprint: r.Fingerprint, bound: bound(r), created: asked.Add(-d.Age), until: asked.Add(r.Policy.Lease),
		}, asked)
	}
}

// Settle tells the ledger, and then keeps the result.
func (c *Cache) Settle(ctx context.Context, claim dedupe.Claim, s dedupe.Settlement) error {
	asked := c.now()
	err := c.ledger.Settle(ctx, claim, s)
	if err != nil && !errors.Is(err, dedupe.ErrClaimLost) {
		return err // unknown: it may be tried again
	}
	known, found := c.pending.take(claim.Token)
	if err != nil || !found || s.To != dedupe.Applied || s.Response == nil {
		return err
	}
	life := c.ttl
	if s.Expires > 0 {
		life = min(life, s.Expires)
	}
	c.keep(&fact{
		scope: claim.Scope, id: claim.EventID, fingerprint: known.fingerprint, bound: known.bound,
		attempt: uint32(claim.Attempt), lastStatus: uint16(s.Response.Status), reason: s.Reason, trace: claim.Trace,
		created: known.created, confirmed: asked, expires: asked.Add(life), response: s.Response,
	})
	return nil
}

// keep remembers a fact that the ledger has confirmed, here and for the other replicas.
func (c *Cache) keep(f *fact) {
	key := c.key(f.scope, f.id)
	value, fits := encode(key, f)
	if !fits || len(value) > c.maxValue {
		return
	}
	c.memory.put(dedupe.Key{Scope: f.scope, EventID: f.id}, payloadOf(value), earlier(f.confirmed.Add(localLife), f.expires))
	if c.shared == nil {
		return
	}
	if !c.shared.breaker.closed.Load() {
		c.counts.dropped.Add(1) // without having been sealed
		return
	}
	value = c.sealer.Seal(f.scope, f.id, value)
	c.shared.put(note{key: key, value: value, life: f.expires.Sub(f.confirmed), made: f.confirmed})
}

func keyOf(r *dedupe.Request) dedupe.Key { return dedupe.Key{Scope: r.Scope, EventID: r.EventID} }

// key tells nothing of the event: senders' IDs are not for those who may list keys.
func (c *Cache) key(scope delivery.Scope, id delivery.EventID) string {
	sum := delivery.HashParts([]byte(scope), []byte(id))
	return prefix(c.namespace) + hex.EncodeToString(sum[:16])
}

// prefix is that of the PostgreSQL schema, so that the two are recognized as one application's. The version changes with
// every change to the values.
func prefix(namespace string) string { return "sidecar_" + namespace + ":v1:" }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

package rediscache

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// maxPending bounds the claims that are remembered until they are settled. Above it, a result is cached with its first
// duplicate instead.
const maxPending = 8192

// pending remembers of running claims what Settle is not told. Safe for concurrent use.
type pending struct {
	mu     sync.Mutex
	claims map[dedupe.Token]running
	swept  time.Time
}

// running is a claim that this process may settle.
type running struct {
	fingerprint [sha256.Size]byte
	bound       bool
	created     time.Time // of the event's first claim
	until       time.Time // the lease's end: a claim that nobody settles is forgotten some time after
}

func newPending() *pending { return &pending{claims: make(map[dedupe.Token]running)} }

func (p *pending) add(token dedupe.Token, c running, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.claims) >= maxPending && now.Sub(p.swept) > time.Second {
		p.forget(now)
	}
	if len(p.claims) < maxPending {
		p.claims[token] = c
	}
}

// forget drops the claims whose lease is over. Called with mu held.
func (p *pending) forget(now time.Time) {
	p.swept = now
	for token, c := range p.claims {
		if now.After(c.until) {
			delete(p.claims, token)
		}
	}
}

func (p *pending) take(token dedupe.Token) (running, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, found := p.claims[token]
	delete(p.claims, token)
	return c, found
}

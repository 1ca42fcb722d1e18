package rediscache

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// The bounds that Reopen is argued with; see the package's documentation.
const (
	localLife = 30 * time.Second // of a fact in local memory, since it was confirmed
	trust     = time.Hour        // in a fact from Redis while the ledger answers, since the ledger confirmed it
	skew      = time.Minute      // between the clocks of two replicas
	markLife  = 2 * time.Minute  // of the mark that Reopen leaves in Redis
	maxQueued = 10 * time.Second // of a write on its way to Redis
)

// Config is what New needs. Zero fields have the defaults that stand beside them.
type Config struct {
	Ledger    dedupe.Ledger // required
	Namespace string        // required: 1 to 64 bytes of [A-Za-z0-9._-]; every key begins with sidecar_<namespace>:
	URL       string        // REDIS_URL; empty: local memory only
	TLS       *tls.Config   // of rediss; nil: the system's roots and the server's name

	Entries  int           // of local memory; default 10,000
	Bytes    int           // of local memory, its own overhead included; default 8 MiB
	Budget   time.Duration // for everything that Redis costs one delivery; default 40 ms, at most 50 ms
	TTL      time.Duration // longest life of a value in Redis; default 24 h. A receipt's own life may make it shorter
	MaxValue int           // bytes of a value; a larger one is not cached; default 8 KiB

	Sealer   Sealer           // of what is in Redis; nil: values are readable there
	Observer Observer         // nil: nobody is told
	Now      func() time.Time // nil: time.Now
}

// Sealer keeps values from whoever can read Redis, and from being made up there; see seal.Values. Local memory is this
// process's own and is not sealed. Safe for concurrent use.
type Sealer interface {
	// Seal returns what is written for a value of an event.
	Seal(scope delivery.Scope, id delivery.EventID, value []byte) []byte
	// Open returns the value. The error is a *dedupe.SealedError; damaged is also what is not sealed and should be.
	Open(scope delivery.Scope, id delivery.EventID, value []byte) ([]byte, error)
}

// unsealed is the Sealer of values that are readable.
type unsealed struct{}

func (unsealed) Seal(_ delivery.Scope, _ delivery.EventID, value []byte) []byte { return value }

func (unsealed) Open(_ delivery.Scope, _ delivery.EventID, value []byte) ([]byte, error) {
	return value, nil
}

// validate fills in the defaults.
func (c *Config) validate() error {
	if c.Ledger == nil {
		return errors.New("the cache has no ledger to stand before")
	}
	if err := delivery.CheckName(c.Namespace); err != nil {
		return fmt.Errorf("the cache's namespace: %w", err)
	}
	c.Entries = orDefault(c.Entries, 10_000)
	c.Bytes = orDefault(c.Bytes, 8<<20)
	c.Budget = min(orDefault(c.Budget, 40*time.Millisecond), 50*time.Millisecond)
	c.TTL = orDefault(c.TTL, 24*time.Hour)
	c.MaxValue = orDefault(c.MaxValue, 8<<10)
	if c.Entries < 0 || c.Bytes < 0 || c.Budget < 0 || c.TTL < 0 || c.MaxValue < 0 {
		return errors.New("the cache's bounds must not be negative")
	}
	if c.Sealer == nil {
		c.Sealer = unsealed{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

func orDefault[T int | time.Duration](value, standard T) T {
	if value == 0 {
		return standard
	}
	return value
}

package dedupe

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// KeeperConfig says what a Keeper keeps its promises with. Store and Replica must be set.
type KeeperConfig struct {
	Store   Backend
	Replica string // names this process, or the command, in evidence
	// Policy returns how a scope is handled now; false for one that nobody configured. Sweeping and the acts of persons
	// use it, claims bring their own. Nil knows none.
	Policy func(delivery.Scope) (Policy, bool)
	// Worker tells that queued jobs are worked off: a replayed dead event with its request is queued.
	Worker bool

	ClaimFlights  int           // batches of claims at once; default 2
	SettleFlights int           // batches of transitions at once; default 2
	Late          time.Duration // a batch that is on for so long no longer keeps the next one waiting; default 10 ms
	Batch         int           // most rows of a batch; default 256
	Flight        time.Duration // how long a batch may take; default 10 s
	Grace         time.Duration // before the sweeper takes an expired claim, so that its owner's last word wins; default 2 s
	SweepBatch    int           // rows a sweep; default 500
	ForgetEvery   time.Duration // between looks for what has outlived its retention, unless there was more; 0: every sweep
	Refused       time.Duration // how long workers pass over a job whose row somebody locks; default 10 s
	// Forgets tells whether anything may be forgotten yet; nil: it may. A ledger that nobody served for longer than its retention
	// has evidence that must be sealed first.
	Forgets func() bool
}

// Keeper is the ledger over any store: it has the rules, the store has the rows. It implements Ledger and Desk. It is safe
// for concurrent use, keeps nothing between calls that matters, and needs no Close: goroutines live while calls do.
type Keeper struct {
	store   Backend
	replica string
	policy  func(delivery.Scope) (Policy, bool)
	worker  bool
	grace   time.Duration
	sweep   int
	forgets *pacer
	ready   func() bool // for anything to be forgotten
	claims  *group[NewRow, Found]
	moves   *group[Move, bool]
	// refusals are kept for a while only, and lost without harm.
	refusals *refusals
}

var (
	_ Ledger = (*Keeper)(nil)
	_ Desk   = (*Keeper)(nil)
)

// NewKeeper makes a Keeper. It does not touch the store.
func NewKeeper(config KeeperConfig) (*Keeper, error) {
	if config.Store == nil {
		return nil, errors.New("a keeper needs a store")
	}
	if config.Replica == "" {
		return nil, errors.New("a keeper needs the name of its replica")
	}
	config.fill()
	k := &Keeper{
		store: config.Store, replica: config.Replica, policy: config.Policy, worker: config.Worker,
		grace: config.Grace, sweep: config.SweepBatch, forgets: newPacer(config.ForgetEvery),
		ready: config.Forgets, refusals: newRefusals(config.Refused),
	}
	k.claims = newGroup(k.claimGroup(config))
	k.moves = newGroup(k.moveGroup(config))
	return k, nil
}

func (c *KeeperConfig) fill() {
	c.ClaimFlights = positive(c.ClaimFlights, 2)
	c.SettleFlights = positive(c.SettleFlights, 2)
	c.Late = positive(c.Late, 10*time.Millisecond)
	c.Batch = positive(c.Batch, 256)
	c.Flight = positive(c.Flight, 10*time.Second)
	c.Grace = positive(c.Grace, 2*time.Second)
	c.Refused = positive(c.Refused, 10*time.Second)
	c.SweepBatch = positive(c.SweepBatch, 500)
	if c.Forgets == nil {
		c.Forgets = func() bool { return true }
	}
	if c.Policy == nil {
		c.Policy = func(delivery.Scope) (Policy, bool) { return Policy{}, false }
	}
}

func positive[N int | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

func (k *Keeper) claimGroup(config KeeperConfig) groupConfig[NewRow, Found] {
	return groupConfig[NewRow, Found]{
		key:     func(row NewRow) Key { return row.Key },
		fly:     k.store.Insert,
		flights: config.ClaimFlights, late: config.Late, batch: config.Batch, singles: 4, timeout: config.Flight, suspect: time.Second,
		// A row that was there before is there for everybody who asked before it was read.
		share:  func(row NewRow, found Found) bool { return !found.Inserted && found.Row.Key == row.Key },
		orphan: k.orphanedClaim,
	}
}

func (k *Keeper) moveGroup(config KeeperConfig) groupConfig[Move, bool] {
	return groupConfig[Move, bool]{
		key:     func(move Move) Key { return move.Key },
		fly:     k.store.Move,
		flights: config.SettleFlights, late: config.Late, batch: config.Batch, singles: 4, timeout: config.Flight, suspect: time.Second,
		orphan: k.orphanedMove,
	}
}

// retention is that of a scope's policy, or the contract's default where nobody knows the scope any more.
func (k *Keeper) retention(scope delivery.Scope) Retention {
	if policy, known := k.policy(scope); known {
		return policy.Retention
	}
	return Retention{Receipt: (72+96)*time.Hour + 5*time.Minute, DeadLetter: 30 * 24 * time.Hour}
}

// move makes one transition, and puts this replica's name on its evidence unless a person's is there.
func (k *Keeper) move(ctx context.Context, move Move) (bool, error) {
	if move.Evidence != nil && move.Evidence.Actor == "" {
		move.Evidence.Actor = k.replica
	}
	return k.moves.do(ctx, move)
}

// newToken makes a token that nobody can guess.
func newToken() Token {
	var token Token
	rand.Read(token[:]) // never fails: it ends the process instead
	return token
}

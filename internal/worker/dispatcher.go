package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

const (
	defaultSlots = 256
	defaultBytes = 64 << 20
	// defaultEvery leaves room in two seconds for the look itself.
	defaultEvery = 1700 * time.Millisecond
	// gap is the least time between two looks, so that jobs that come one by one are claimed by the handful.
	gap = 20 * time.Millisecond
	// failingGap is the same while the ledger is out of reach.
	failingGap = time.Second
	// takeTimeout bounds one look with its claims.
	takeTimeout = 15 * time.Second
)

// Ledger is the part of a ledger that a Dispatcher needs; see dedupe.Keeper.
type Ledger interface {
	Take(ctx context.Context, quotas []dedupe.Quota, most int) (dedupe.Taken, error)
	Settle(ctx context.Context, c dedupe.Claim, s dedupe.Settlement) error
}

// Application makes one attempt at the application; see upstream.Upstream.
type Application interface {
	Forward(ctx context.Context, a upstream.Attempt) delivery.Result
}

// Config is what a Dispatcher is made of. Ledger, Application and Routes must be set.
type Config struct {
	Ledger      Ledger
	Application Application
	// Routes are the integrations of this process as they are now; asked before every look. Jobs of others are left alone.
	Routes func() []Route
	Watch  Watch         // nil: nobody watches
	Log    *slog.Logger  // nil: nowhere
	Slots  int           // attempts at once; 0: 256
	Bytes  int64         // of bodies being handled, as far as their sizes can be foreseen; 0: 64 MiB
	Every  time.Duration // between two looks when nothing happens; 0: 1.7 s
}

// Dispatcher claims due jobs and hands them to the application. It is safe for concurrent use.
type Dispatcher struct {
	config Config
	wake   chan struct{}
	hurry  chan struct{} // a backlog waits and most hands are free
	crew   *crew
	held   atomic.Pointer[map[delivery.Scope]struct{}] // paused by persons
	open   atomic.Pointer[map[delivery.Scope]struct{}] // whose jobs the last look could have taken

	attempts context.Context // ends with Stop
	stop     context.CancelFunc
	running  sync.WaitGroup
	backlog  atomic.Bool // the last look left jobs that were due

	// Only Run's goroutine uses these.
	failing bool
	looked  time.Time
	paused  []delivery.Scope
}

// NewDispatcher makes a Dispatcher; Run starts it.
func NewDispatcher(c Config) (*Dispatcher, error) {
	if c.Ledger == nil || c.Application == nil || c.Routes == nil {
		return nil, errors.New("worker: a dispatcher needs a ledger, an application and routes")
	}
	if c.Watch == nil {
		c.Watch = unwatched{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Slots == 0 {
		c.Slots = defaultSlots
	}
	if c.Bytes == 0 {
		c.Bytes = defaultBytes
	}
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	d := &Dispatcher{config: c, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), crew: newCrew(c.Slots, c.Bytes)}
	d.attempts, d.stop = context.WithCancel(context.Background())
	return d, nil
}

// Held tells whether a person has paused the scope, as of the last look.
func (d *Dispatcher) Held(scope delivery.Scope) bool {
	held := d.held.Load()
	return held != nil && has(held, scope)
}

// Run works until ctx ends; then it claims nothing more, and returns nil when the attempts under way are over. Stop
// breaks these off.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.running.Wait()
	for d.pause(ctx) {
		d.look(ctx)
	}
	return nil
}

// Stop breaks off the attempts under way: their outcome is unknown, and recorded as such.
func (d *Dispatcher) Stop() { d.stop() }

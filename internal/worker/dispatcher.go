package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

// Wake makes the dispatcher look now: a job has become due.
func (d *Dispatcher) Wake() { signal(d.wake) }

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default: // it is about to
	}
}

// wakeFor makes the dispatcher look when a job of a scope is due, unless it looks before that anyway, or would leave the
// job alone.
func (d *Dispatcher) wakeFor(scope delivery.Scope, after time.Duration) {
	switch open := d.open.Load(); {
	case after >= d.config.Every || open != nil && !has(open, scope):
	case after <= 0:
		d.Wake()
	default:
		time.AfterFunc(after+clockMargin, d.Wake)
	}
}

// clockMargin lets the ledger's clock reach what this process's has reached.
const clockMargin = 5 * time.Millisecond

func has(set *map[delivery.Scope]struct{}, scope delivery.Scope) bool {
	_, is := (*set)[scope]
	return is
}

func setOf(scopes []delivery.Scope) *map[delivery.Scope]struct{} {
	set := make(map[delivery.Scope]struct{}, len(scopes))
	for _, scope := range scopes {
		set[scope] = struct{}{}
	}
	return &set
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

// pause waits until it is time for a look; false when ctx has ended.
func (d *Dispatcher) pause(ctx context.Context) bool {
	if d.looked.IsZero() {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Until(d.looked.Add(d.config.Every)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-d.wake:
	}
	least := gap
	if d.failing {
		least = failingGap
	}
	timer.Reset(time.Until(d.looked.Add(least)))
	select {
	case <-ctx.Done():
		return false
	case <-d.hurry:
		return true
	case <-timer.C:
		return true
	}
}

// look claims what is due and there is room for, and starts it.
func (d *Dispatcher) look(ctx context.Context) {
	select {
	case <-d.hurry: // of before
	default:
	}
	d.looked = time.Now()
	routes := d.config.Routes()
	quotas, most := d.crew.quotas(routes, d.Held)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTimeout)
	defer cancel()
	taken, err := d.config.Ledger.Take(bounded, quotas, most)
	d.tell(ctx, err)
	if err == nil {
		d.hold(quotas, taken.Held)
	}
	d.backlog.Store(taken.More || most == 0)
	byScope := make(map[delivery.Scope]*Route, len(routes))
	for i := range routes {
		byScope[routes[i].Scope] = &routes[i]
	}
	for i := range taken.Works {
		work := &taken.Works[i]
		d.start(ctx, work, byScope[work.Claim.Scope])
	}
	if taken.More && d.crew.idle() {
		d.Wake() // nobody's end will
	}
}

// hold remembers what is paused. Where that has changed it looks again: what goes on has waited long enough.
func (d *Dispatcher) hold(quotas []dedupe.Quota, scopes []delivery.Scope) {
	scopes = slices.Sorted(slices.Values(scopes))
	if !slices.Equal(scopes, d.paused) {
		d.paused = scopes
		d.Wake()
	}
	d.held.Store(setOf(scopes))
	open := make([]delivery.Scope, 0, len(quotas))
	for _, quota := range quotas {
		open = append(open, quota.Scope)
	}
	d.open.Store(setOf(open))
}

// start runs an attempt, or gives the job back where the process is about to end.
func (d *Dispatcher) start(ctx context.Context, work *dedupe.Work, route *Route) {
	size := int64(len(work.Job.Body))
	d.crew.begin(work.Claim.Scope, size)
	d.running.Go(func() {
		a := attempt{Dispatcher: d, work: work, route: route}
		result := delivery.NotSent
		if ctx.Err() == nil {
			result = a.run()
		} else {
			a.release()
		}
		d.crew.end(work.Claim.Scope, size, result != delivery.Answered)
		d.goOn()
	})
}

// goOn looks for more when there is more: at once where there are many hands for it, else by and by.
func (d *Dispatcher) goOn() {
	if !d.backlog.Load() {
		return
	}
	if d.crew.mostlyFree() {
		signal(d.hurry)
	}
	d.Wake()
}

// tell logs a failure once until it is over.
func (d *Dispatcher) tell(ctx context.Context, err error) {
	switch {
	case err != nil && !d.failing:
		d.config.Log.WarnContext(ctx, "jobs cannot be taken from the ledger", "error", err)
	case err == nil && d.failing:
		d.config.Log.InfoContext(ctx, "jobs are taken from the ledger again")
	}
	d.failing = err != nil
}

package dedupe

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// group collects concurrent calls and flies them to the store as one batch. No timer holds a batch back: it forms while
// the one before it is in flight. Only when that takes long, or a full batch waits, another one takes off beside it: few
// large batches cost the store much less than many small ones. Each caller's context bounds its own wait only; a flight
// has its own deadline.
//
// A key is in at most one flight at a time, so that no batch waits in the store for another one's row. Calls that wait
// for their key hang behind it in a chain and cost the others nothing.
type group[T, R any] struct {
	config groupConfig[T, R]

	mu       sync.Mutex
	chains   map[Key]*chain[T, R] // every key that is waiting or in flight
	batches  lane[T, R]           // where calls go first
	singles  lane[T, R]           // calls of a batch that fell apart, one a flight
	suspects lane[T, R]           // calls for keys that failed alone a moment ago, one a flight
	guilty   map[Key]time.Time    // until when a key is a suspect
}

// groupConfig says how a group flies. All fields but late, share and orphan must be set.
type groupConfig[T, R any] struct {
	key     func(T) Key
	fly     func(context.Context, []T) ([]R, error)
	flights int           // batches at once
	late    time.Duration // how long ago the last batch took off before another one does beside it; 0: at once
	batch   int           // most calls of a batch
	singles int           // single flights at once, of batches that fell apart
	timeout time.Duration // of a flight
	suspect time.Duration // how long a key that failed alone is kept out of batches
	// share tells that the answer to a call holds for every call for its key that was waiting when it took off.
	share func(T, R) bool
	// orphan is told of an answer whose caller had given up waiting. It must not block.
	orphan func(T, R)
}

// chain is the calls for one key, in the order they came. Only the first one flies.
type chain[T, R any] struct {
	key   Key
	calls []*call[T, R]
	pilot *call[T, R] // the first call, set at take-off
	aloft int         // calls that were here at take-off
	first [1]*call[T, R]
}

func newChain[T, R any](key Key, c *call[T, R]) *chain[T, R] {
	queue := &chain[T, R]{key: key, first: [1]*call[T, R]{c}}
	queue.calls = queue.first[:]
	return queue
}

// lane is chains that wait for one kind of flight.
type lane[T, R any] struct {
	waiting []*chain[T, R]
	flying  int
	flights int
	batch   int
	late    time.Duration
	began   time.Time   // when a batch last took off, or a server was started to that end
	relief  *time.Timer // looks after what waits once that is late; nil: it was never set
}

func newGroup[T, R any](config groupConfig[T, R]) *group[T, R] {
	return &group[T, R]{
		config:   config,
		chains:   make(map[Key]*chain[T, R]),
		guilty:   make(map[Key]time.Time),
		batches:  lane[T, R]{flights: config.flights, batch: config.batch, late: config.late},
		singles:  lane[T, R]{flights: config.singles, batch: 1},
		suspects: lane[T, R]{flights: 1, batch: 1},
	}
}

// do flies one item with whatever else is waiting. After ctx has ended it returns ctx's error, and the item may or may
// not be applied.
func (g *group[T, R]) do(ctx context.Context, item T) (R, error) {
	if ctx.Err() != nil {
		var none R
		return none, context.Cause(ctx)
	}
	return g.join(item).wait(ctx)
}

// join adds an item to a batch to come.
func (g *group[T, R]) join(item T) *call[T, R] {
	c := newCall[T, R](item)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.enter(c)
	return c
}

// joinAll adds items to a batch to come, and to the same one as far as it has room.
func (g *group[T, R]) joinAll(items []T) []*call[T, R] {
	calls := make([]*call[T, R], len(items))
	for i, item := range items {
		calls[i] = newCall[T, R](item)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range calls {
		g.enter(c)
	}
	return calls
}

// enter queues a call, behind those for its key if there are any. Called with mu held.
func (g *group[T, R]) enter(c *call[T, R]) {
	key := g.config.key(c.item)
	if queue, found := g.chains[key]; found {
		queue.calls = append(queue.calls, c)
		return
	}
	queue := newChain(key, c)
	g.chains[key] = queue
	g.queue(g.laneFor(key), queue)
}

// laneFor is where a key's next call goes. Called with mu held.
func (g *group[T, R]) laneFor(key Key) *lane[T, R] {
	if len(g.guilty) == 0 {
		return &g.batches
	}
	until, found := g.guilty[key]
	if !found {
		return &g.batches
	}
	if time.Now().After(until) {
		delete(g.guilty, key)
		return &g.batches
	}
	return &g.suspects
}

// queue puts chains into a lane and starts as many servers as they need and are allowed. Called with mu held.
func (g *group[T, R]) queue(l *lane[T, R], waiting ...*chain[T, R]) {
	l.waiting = append(l.waiting, waiting...)
	for range waiting {
		if !l.needy() {
			return
		}
		g.staff(l)
	}
}

// needy tells that what waits in a lane should not wait for the flights that are on. Called with mu held.
func (l *lane[T, R]) needy() bool {
	if l.flying == 0 || l.flying >= l.flights || l.late == 0 {
		return l.flying < l.flights
	}
	return len(l.waiting) >= l.batch || time.Since(l.began) >= l.late
}

// staff starts a server. Called with mu held.
func (g *group[T, R]) staff(l *lane[T, R]) {
	l.flying++
	g.note(l)
	go g.serve(l)
}

// note remembers that a batch takes off, and has what waits looked after in a while. One timer serves the whole lane: one
// for each flight would wake the process once for each, where they come one by one. Called with mu held.
func (g *group[T, R]) note(l *lane[T, R]) {
	l.began = time.Now()
	switch {
	case l.late == 0:
	case l.relief == nil:
		l.relief = time.AfterFunc(l.late, func() { g.relieve(l) })
	default:
		l.relief.Reset(l.late)
	}
}

// dismiss ends a server. Called with mu held.
func (g *group[T, R]) dismiss(l *lane[T, R]) {
	if l.flying--; l.flying == 0 && l.relief != nil {
		l.relief.Stop()
	}
}

// relieve starts another server where the last flight keeps calls waiting.
func (g *group[T, R]) relieve(l *lane[T, R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(l.waiting) > 0 && l.needy() {
		g.staff(l)
	}
}

// serve flies what waits in a lane until nothing does.
func (g *group[T, R]) serve(l *lane[T, R]) {
	stretch()
	for {
		chains, items := g.takeOff(l)
		if len(chains) == 0 {
			return
		}
		answers, err := g.flight(items)
		g.land(l, chains, items, answers, err)
	}
}

// stretch gives a new goroutine the stack that a store needs. Left to grow, it would be moved in the middle of the driver,
// with all the frames there are by then, which takes as long as the rest of a small batch.
//
//go:noinline
func stretch() byte {
	var room [8 << 10]byte
	return room[time.Now().Nanosecond()&(len(room)-1)]
}

// takeOff takes the next batch, sorted by key. None is the end of this server.
func (g *group[T, R]) takeOff(l *lane[T, R]) ([]*chain[T, R], []T) {
	g.mu.Lock()
	chains := g.board(l)
	switch {
	case len(chains) == 0:
		g.dismiss(l)
	case l.late > 0:
		g.note(l)
		if l.needy() {
			g.staff(l) // there was more than a batch
		}
	}
	g.mu.Unlock()
	slices.SortFunc(chains, func(a, b *chain[T, R]) int { return a.key.compare(b.key) })
	items := make([]T, len(chains))
	for i, queue := range chains {
		items[i] = queue.pilot.item
	}
	return chains, items
}

// board removes up to a batch of chains from the lane, without the calls that nobody waits for any more. Called with mu
// held.
func (g *group[T, R]) board(l *lane[T, R]) []*chain[T, R] {
	chains := make([]*chain[T, R], 0, min(l.batch, len(l.waiting)))
	taken := 0
	for _, queue := range l.waiting {
		if len(chains) == l.batch {
			break
		}
		taken++
		queue.calls = slices.DeleteFunc(queue.calls, (*call[T, R]).abandoned)
		if len(queue.calls) == 0 {
			delete(g.chains, queue.key)
			continue
		}
		queue.pilot, queue.aloft = queue.calls[0], len(queue.calls)
		chains = append(chains, queue)
	}
	l.waiting = slices.Delete(l.waiting, 0, taken)
	return chains
}

// compare orders keys by scope, then ID, byte by byte.
func (k Key) compare(other Key) int {
	if order := cmp.Compare(k.Scope, other.Scope); order != 0 {
		return order
	}
	return cmp.Compare(k.EventID, other.EventID)
}

package worker

import (
	"cmp"
	"slices"
	"sync"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	firstPace     = 8       // attempts at once of a scope that nothing is known about
	smallestGuess = 4 << 10 // bytes of a body, whatever was seen
	memory        = 15      // attempts that a guess is made of
)

// crew counts who is at work, and the bytes of their bodies. The last quarter of both is for scopes that have no hands yet,
// one each, and a scope whose attempts bring no answer is slowed down, so that an account's dead application does not
// delay another's events. Safe for concurrent use.
type crew struct {
	slots int
	bytes int64

	mu     sync.Mutex
	busy   int
	held   int64 // bytes of bodies
	begun  int64 // attempts
	scopes map[delivery.Scope]*gang
}

// gang is the part of the crew that works for one scope.
type gang struct {
	running int
	last    int64 // number of its last attempt among all; 0: none yet
	pace    int   // attempts at once that the application seems to bear
	guess   int64 // bytes that the next body may have
	seen    int64 // bodies that the guess is made of
}

func newCrew(slots int, bytes int64) *crew {
	return &crew{slots: slots, bytes: bytes, scopes: map[delivery.Scope]*gang{}}
}

func (c *crew) gang(route *Route) *gang {
	g := c.scopes[route.Scope]
	if g == nil {
		g = &gang{pace: firstPace, guess: c.bounded(route.MaxBody)}
		c.scopes[route.Scope] = g
	}
	return g
}

// bounded is a guess that always fits where nothing is held.
func (c *crew) bounded(guess int64) int64 { return min(max(guess, smallestGuess), c.bytes) }

// quotas says how many jobs of each route that goes on may be taken now, and how many of all. First in turn is who has the
// fewest hands, of those who has waited for the longest.
func (c *crew) quotas(routes []Route, held func(delivery.Scope) bool) ([]dedupe.Quota, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	quotas := make([]dedupe.Quota, 0, len(routes))
	common, sharers := c.common(), c.sharers()
	for i := range routes {
		if route := &routes[i]; !route.Hold && !held(route.Scope) {
			quotas = append(quotas, c.quota(route, common, sharers))
		}
	}
	slices.SortStableFunc(quotas, func(a, b dedupe.Quota) int {
		one, other := c.scopes[a.Scope], c.scopes[b.Scope]
		return cmp.Or(cmp.Compare(one.running, other.running), cmp.Compare(one.last, other.last))
	})
	if common > 0 {
		return quotas, common
	}
	return quotas, c.slots - c.busy
}

// common is how many hands are free for everybody.
func (c *crew) common() int { return max(0, c.slots-c.slots/4-c.busy) }

// sharers is how many scopes have hands.
func (c *crew) sharers() int {
	count := 0
	for _, g := range c.scopes {
		if g.running > 0 {
			count++
		}
	}
	return count
}

func (c *crew) quota(route *Route, common, sharers int) dedupe.Quota {
	g, free := c.gang(route), c.bytes-c.held
	quota := dedupe.Quota{Scope: route.Scope, Size: g.guess, Free: free - c.bytes/4, Policy: route.Policy}
	room := int(quota.Free / g.guess)
	if g.running == 0 {
		quota.Free, room = free, max(1, room)
	}
	quota.Most = max(0, min(g.most(route, common, sharers), room))
	return quota
}

// most is how many jobs a scope may have more, for want of hands.
func (g *gang) most(route *Route, common, sharers int) int {
	most := common
	switch {
	case g.running > 0 && common > 0:
		most = max(1, common/sharers)
	case g.running == 0:
		most = max(1, common/2)
	}
	most = min(most, g.pace-g.running)
	if route.Concurrency > 0 {
		most = min(most, route.Concurrency-g.running)
	}
	return most
}

// begin counts an attempt of a scope that has had a quota.
func (c *crew) begin(scope delivery.Scope, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.scopes[scope]
	c.begun++
	g.running, g.last = g.running+1, c.begun
	g.seen = min(g.seen+1, memory)
	// What the route allows weighs no more than one body that was seen, and a large body is forgotten slowly.
	g.guess = c.bounded(max(size, g.guess-g.guess/(g.seen+1)))
	c.busy++
	c.held += size
}

// end tells that an attempt is over, and whether it brought no answer.
func (c *crew) end(scope delivery.Scope, size int64, unanswered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.scopes[scope]
	g.running--
	if unanswered {
		g.pace = max(1, g.pace/2)
	} else {
		g.pace = min(g.pace+1, c.slots)
	}
	c.busy--
	c.held -= size
}

func (c *crew) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy == 0
}

// mostlyFree tells that at least half of the hands have nothing to do.
func (c *crew) mostlyFree() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 2*c.busy <= c.slots
}

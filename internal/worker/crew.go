package worker

import (
	"sync"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	firstPace     = 8       // attempts at once of a scope that nothing is known about
	smallestGuess = 4 << 10 // bytes of a body that is not known yet
)

// crew counts who is at work. The last quarter of its hands is for scopes that have none yet, one each, and a scope whose
// attempts bring no answer is slowed down, so that an account's dead application does not delay another's events. Safe for
// concurrent use.
type crew struct {
	slots int
	bytes int64

	mu     sync.Mutex
	busy   int
	held   int64 // bytes of bodies
	scopes map[delivery.Scope]*gang
}

// gang is the part of the crew that works for one scope.
type gang struct {
	running int
	pace    int   // attempts at once that the application seems to bear
	guess   int64 // bytes that the next body may have
}

func newCrew(slots int, bytes int64) *crew {
	return &crew{slots: slots, bytes: bytes, scopes: map[delivery.Scope]*gang{}}
}

func (c *crew) gang(scope delivery.Scope) *gang {
	g := c.scopes[scope]
	if g == nil {
		g = &gang{pace: firstPace, guess: smallestGuess}
		c.scopes[scope] = g
	}
	return g
}

// quotas says how many jobs of each route that goes on may be taken now, and how many of all.
func (c *crew) quotas(routes []Route, held func(delivery.Scope) bool) ([]dedupe.Quota, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	quotas := make([]dedupe.Quota, 0, len(routes))
	common, sharers := c.common(), c.sharers()
	for i := range routes {
		if route := &routes[i]; !route.Hold && !held(route.Scope) {
			quotas = append(quotas, dedupe.Quota{Scope: route.Scope, Most: c.most(route, common, sharers), Policy: route.Policy})
		}
	}
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

func (c *crew) most(route *Route, common, sharers int) int {
	g := c.gang(route.Scope)
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
	room := int((c.bytes - c.held) / g.guess)
	if c.busy == 0 {
		room = max(1, room) // the largest body must pass, too
	}
	return max(0, min(most, room))
}

func (c *crew) begin(scope delivery.Scope, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gang(scope)
	g.running++
	g.guess = max(size, g.guess-g.guess/16, smallestGuess)
	c.busy++
	c.held += size
}

// end tells that an attempt is over, and whether it brought no answer.
func (c *crew) end(scope delivery.Scope, size int64, unanswered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gang(scope)
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

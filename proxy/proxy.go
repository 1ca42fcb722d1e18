package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// errUnexpectedDecision is a fault of the ledger: a decision that no delivery can get.
var errUnexpectedDecision = errors.New("proxy: the ledger's decision is none that a delivery can get")

// Defaults of Config.
const (
	defaultBudget      = 256 << 20
	defaultBodyTimeout = 30 * time.Second
	defaultAnswerTime  = time.Minute
	defaultClaimWait   = 3 * time.Second
)

// Proxy serves the public listener. It is safe for concurrent use; until Serve is called it guards nothing and passes
// nothing.
type Proxy struct {
	config Config
	budget *budget

	serving sync.Mutex // one Serve at a time
	table   atomic.Pointer[table]
}

// table is the set of routes in force, swapped as a whole.
type table struct {
	guard  *Guard
	routes map[string]*Route
	closed map[string]struct{} // paths that were routes once
}

// New makes a Proxy. Ledger, Application and Passthrough are required.
func New(c Config) (*Proxy, error) {
	if c.Ledger == nil || c.Application == nil || c.Passthrough == nil {
		return nil, errors.New("proxy: a ledger, an application and the way through to it are required")
	}
	if c.Budget == 0 {
		c.Budget = defaultBudget
	}
	if c.BodyTimeout == 0 {
		c.BodyTimeout = defaultBodyTimeout
	}
	if c.AnswerTime == 0 {
		c.AnswerTime = defaultAnswerTime
	}
	if c.ClaimWait == 0 {
		c.ClaimWait = defaultClaimWait
	}
	if c.Held == nil {
		c.Held = func(delivery.Scope) bool { return false }
	}
	if c.Watch == nil {
		c.Watch = unwatched{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Proxy{config: c, budget: newBudget(c.Budget)}, nil
}

// Serve puts a set of routes in force, all at once. Requests under way finish under the set they began with, but for their
// credentials: those are asked for as they are when the body has been read, and again when a duplicate has waited. A path that
// was a route and is none any more stays closed until the process ends, so that taking an integration out of the
// configuration never opens its path.
func (p *Proxy) Serve(routes []Route) error {
	p.serving.Lock()
	defer p.serving.Unlock()
	next := &table{routes: make(map[string]*Route, len(routes)), closed: map[string]struct{}{}}
	paths := make([]string, 0, len(routes))
	for i := range routes {
		route := &routes[i]
		if next.routes[route.Path] != nil {
			return fmt.Errorf("proxy: two routes on %s", route.Path)
		}
		next.routes[route.Path] = route
		paths = append(paths, route.Path)
	}
	if last := p.table.Load(); last != nil {
		next.keepClosed(last)
	}
	next.guard = NewGuard(paths, p.config.Guard, next.closedPaths(), !p.config.RoutesOnly)
	p.table.Store(next)
	return nil
}

// keepClosed closes what was open or closed in last and is no route now.
func (t *table) keepClosed(last *table) {
	for path := range last.closed {
		t.close(path)
	}
	for path := range last.routes {
		t.close(path)
	}
}

func (t *table) close(path string) {
	if t.routes[path] == nil {
		t.closed[path] = struct{}{}
	}
}

func (t *table) closedPaths() []string {
	paths := make([]string, 0, len(t.closed))
	for path := range t.closed {
		paths = append(paths, path)
	}
	return paths
}

// ServeHTTP decides by the request line alone what a request is: a delivery, a way round the guard, or none of our
// business.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	table := p.table.Load()
	if table == nil {
		p.refuse(w, r, routeUnknown())
		return
	}
	switch verdict := table.guard.Decide(r.RequestURI); verdict.Kind {
	case VerdictPass:
		p.config.Passthrough.ServeHTTP(w, r)
	case VerdictRoute:
		p.serve(w, r, table.routes[verdict.Path])
	case VerdictAmbiguous:
		p.refuse(w, r, pathAmbiguous())
	default:
		p.refuse(w, r, routeUnknown())
	}
}

// serve takes one request on a guarded route from its header section to the written answer.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, route *Route) {
	x := p.begin(w, r, route)
	defer x.release()
	answer := brokenOff()
	defer func() { x.record(answer) }() // whatever ends the request: where the sender is gone, passing on ends by a panic
	answer = x.deliver()
	if answer.pass {
		x.passOn()
		return
	}
	x.write(answer)
}

// refuse answers a request that is on no route and may not pass.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, answer reply) {
	x := p.begin(w, r, nil)
	defer x.release()
	defer x.record(answer)
	x.write(answer)
}

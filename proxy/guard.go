package proxy

import "strings"

// VerdictKind is what the guard says about a request target.
type VerdictKind uint8

// The kinds of verdicts.
const (
	// VerdictRoute: the raw path is exactly a configured route.
	VerdictRoute VerdictKind = iota + 1
	// VerdictAmbiguous: the path is another spelling of a route. 400.
	VerdictAmbiguous
	// VerdictUnknown: the path lies under a guarded prefix or was a route once, or nothing is passed through. 404.
	VerdictUnknown
	// VerdictPass: no application can understand the path as a guarded one. It goes through byte for byte.
	VerdictPass
)

// Verdict is the guard's decision on one request target.
type Verdict struct {
	Kind VerdictKind
	Path string // the configured route; empty unless Kind is VerdictRoute
}

// keyClass says what a spelling of a guarded path gets.
type keyClass uint8

const (
	openKey   keyClass = iota + 1 // a route: other spellings are ambiguous
	closedKey                     // a route of the past: no spelling of it is known
)

// Guard decides by the raw request target alone which requests are deliveries, which pass, and which are refused
// because an application might understand them as a guarded path. It is immutable and safe for concurrent use.
type Guard struct {
	routes      map[string]struct{} // exactly as configured
	keys        map[string]keyClass // every reading of a route, as a key
	prefixes    map[string]struct{} // every reading of a prefix, as a key
	names       nameSet             // last segments of keys and prefixes
	passthrough bool
}

// NewGuard makes a guard of exact routes, of path prefixes under which nothing passes, and of closed routes, which a
// reload has removed. A path that is both a route and closed is a route. Without passthrough whatever is no route is
// unknown.
func NewGuard(routes, prefixes, closed []string, passthrough bool) *Guard {
	g := &Guard{
		routes:      make(map[string]struct{}, len(routes)),
		keys:        make(map[string]keyClass),
		prefixes:    make(map[string]struct{}),
		names:       newNameSet(),
		passthrough: passthrough,
	}
	for _, route := range closed {
		g.addKeys(route, closedKey)
	}
	for _, route := range routes {
		g.routes[route] = struct{}{}
		g.addKeys(route, openKey)
	}
	for _, prefix := range prefixes {
		for _, key := range keysOf(prefix) {
			g.prefixes[key] = struct{}{}
			g.names.add(key)
		}
	}
	return g
}

func (g *Guard) addKeys(route string, class keyClass) {
	for _, key := range keysOf(route) {
		g.keys[key] = class
		g.names.add(key)
	}
}

// Decide judges a request target as it stands in the request line. The query never matters.
func (g *Guard) Decide(target string) Verdict {
	path := target
	if query := strings.IndexByte(target, '?'); query >= 0 {
		path = target[:query]
	}
	if _, exact := g.routes[path]; exact {
		if strings.IndexByte(target, ' ') >= 0 {
			return Verdict{Kind: VerdictAmbiguous} // over HTTP/2 only: in HTTP/1.1 its query would end at the space
		}
		return Verdict{Kind: VerdictRoute, Path: path}
	}
	kind := VerdictPass
	if isPlain(path) {
		kind = g.judge(plainKey(path))
	} else if g.names.occurIn(path) {
		kind = g.judgeReadings(path)
	}
	if kind == VerdictPass && !g.passthrough {
		kind = VerdictUnknown
	}
	return Verdict{Kind: kind}
}

// judge decides on one reading of a path that is not exactly a route.
func (g *Guard) judge(key string) VerdictKind {
	class := g.keys[key]
	switch {
	case class == openKey:
		return VerdictAmbiguous
	case class == closedKey || g.underPrefix(key):
		return VerdictUnknown
	}
	return VerdictPass
}

func (g *Guard) underPrefix(key string) bool {
	if len(g.prefixes) == 0 {
		return false
	}
	for i := range len(key) {
		if key[i] != '/' {
			continue
		}
		if _, under := g.prefixes[key[:i]]; under {
			return true
		}
	}
	_, itself := g.prefixes[key]
	return itself
}

// judgeReadings decides on every reading. One ambiguous reading outweighs the rest; a path with more readings than the
// budget allows is ambiguous too, because a guarded name occurs in it.
func (g *Guard) judgeReadings(path string) VerdictKind {
	worst := VerdictPass
	whole := eachReading(path, readingBudget, func(reading string) bool {
		if kind := g.judge(keyOf(reading)); kind != VerdictPass {
			worst = kind
		}
		return worst != VerdictAmbiguous
	})
	if !whole {
		return VerdictAmbiguous
	}
	return worst
}

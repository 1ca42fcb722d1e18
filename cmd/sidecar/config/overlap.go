package config

import (
	"fmt"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// overlaps are routes that one request could mean: the same path, or two spellings that an application may read alike.
func overlaps(integrations []*Integration) Problems {
	var problems Problems
	first := map[string]*Integration{}
	var odd []*Integration
	for _, i := range integrations {
		if i.Route == "" {
			continue
		}
		if !plainRoute(i.Route) {
			odd = append(odd, i)
		}
		key := strings.ToLower(strings.TrimRight(i.Route, "/"))
		if other, taken := first[key]; taken {
			problems = append(problems, overlap(i, other))
			continue
		}
		first[key] = i
	}
	return append(problems, oddOverlaps(integrations, odd)...)
}

func overlap(i, other *Integration) Problem {
	text := fmt.Sprintf("%s is the route of %s on line %d, too: one request could match both", i.Route, other.at.path, other.at.line)
	if i.Route != other.Route {
		text = fmt.Sprintf("%s and %s (%s on line %d) are spellings of one path: one request could match both",
			i.Route, other.Route, other.at.path, other.at.line)
	}
	return i.at.problem("route", text)
}

// plainRoute tells whether a route has no other reading than itself, apart from letter case and a trailing slash.
func plainRoute(route string) bool {
	return !strings.ContainsAny(route, `%\;:`) && !strings.Contains(route, "//") && !strings.Contains(route, "/.")
}

// oddOverlaps asks the guard itself about the few routes that have many readings.
func oddOverlaps(integrations, odd []*Integration) Problems {
	var problems Problems
	for _, i := range odd {
		alone := proxy.NewGuard([]string{i.Route}, nil, nil, true)
		for _, other := range integrations {
			if other == i || other.Route == "" || other.Route == i.Route {
				continue
			}
			reverse := proxy.NewGuard([]string{other.Route}, nil, nil, true)
			if alone.Decide(other.Route).Kind != proxy.VerdictPass || reverse.Decide(i.Route).Kind != proxy.VerdictPass {
				problems = append(problems, overlap(i, other))
				break
			}
		}
	}
	return problems
}

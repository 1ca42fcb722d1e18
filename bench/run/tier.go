package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// countTiers remembers how many deliveries each tier has answered so far.
func (b *bench) countTiers(r *sidecar) { b.counted = tierCounts(b.stage, r) }

// tiers tells who answered since they were counted, by the sidecar's own metrics.
func (b *bench) tiers(r *sidecar) string {
	var parts []string
	now, sum := tierCounts(b.stage, r), 0.0
	for tier := range now {
		now[tier] -= b.counted[tier]
		sum += now[tier]
	}
	for tier, count := range now {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1f %%", tier, 100*count/sum))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func tierCounts(s *stage, r *sidecar) map[string]float64 {
	page, err := r.page(s, "/metrics")
	s.must("the sidecar's metrics", err)
	line := regexp.MustCompile(`(?m)^webhook_[a-z_]+_total\{[^}]*tier="([a-z]+)"[^}]*\} ([0-9.e+]+)`)
	counts := map[string]float64{}
	for _, match := range line.FindAllStringSubmatch(page, -1) {
		count, err := strconv.ParseFloat(match[2], 64)
		s.must("the sidecar's metrics", err)
		counts[match[1]] += count
	}
	return counts
}

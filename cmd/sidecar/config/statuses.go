package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Statuses is a set of HTTP statuses from 200 to 599, as written: 2xx for a class, or single ones.
type Statuses struct {
	Written []string
	set     [600]bool
}

// ParseStatuses reads a list such as [2xx, 410].
func ParseStatuses(texts []string) (Statuses, error) {
	parsed := Statuses{Written: texts}
	for _, text := range texts {
		from, to, err := statusRange(text)
		if err != nil {
			return Statuses{}, err
		}
		for status := from; status <= to; status++ {
			parsed.set[status] = true
		}
	}
	return parsed, nil
}

func statusRange(text string) (from, to int, err error) {
	if class, found := strings.CutSuffix(strings.ToLower(text), "xx"); found && len(class) == 1 && class >= "2" && class <= "5" {
		from = int(class[0]-'0') * 100
		return from, from + 99, nil
	}
	status, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || status < 200 || status > 599 {
		return 0, 0, fmt.Errorf("%q is no status such as 200 or 2xx", text)
	}
	return status, status, nil
}

// Has tells whether a status is in the set. It is safe for concurrent use.
func (s Statuses) Has(status int) bool {
	return status >= 0 && status < len(s.set) && s.set[status]
}

// common is a status that both have; 0: none.
func (s Statuses) common(other Statuses) int {
	for status := range s.set {
		if s.set[status] && other.set[status] {
			return status
		}
	}
	return 0
}

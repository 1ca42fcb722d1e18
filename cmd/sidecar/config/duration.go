package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Duration is a length of time in the environment: what ParseDuration reads.
type Duration time.Duration

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// ParseDuration reads 30s, 1h30m or 250ms as Go does, and whole days as in 30d or 1d12h. It is never negative.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		return parseGoDuration(text)
	}
	count, err := strconv.ParseUint(days, 10, 32)
	if err != nil || count > uint64(math.MaxInt64/day) {
		return 0, fmt.Errorf("%q is no duration such as 20s, 72h or 30d", text)
	}
	total := time.Duration(count) * day
	if rest == "" {
		return total, nil
	}
	more, err := parseGoDuration(rest)
	if err != nil || more > math.MaxInt64-total {
		return 0, fmt.Errorf("%q is no duration such as 20s, 72h or 30d", text)
	}
	return total + more, nil
}

func parseGoDuration(text string) (time.Duration, error) {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration such as 20s, 72h or 30d", text)
	}
	if parsed < 0 {
		return 0, errors.New("a duration cannot be negative")
	}
	return parsed, nil
}

// FormatDuration writes the shortest form that ParseDuration reads.
func FormatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

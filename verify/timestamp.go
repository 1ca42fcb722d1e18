package verify

import (
	"strconv"
	"time"
)

// The units of signed times.
const (
	unitSeconds = "s"
	unitMillis  = "ms"
	unitRFC3339 = "rfc3339"
)

// lastSecond is the end of the year 9999, behind which times cannot be written.
const lastSecond = 253402300799

// parseTime reads a signed time. Only digits count, or RFC 3339: no sign, fraction or exponent.
func parseTime(text, unit string) (time.Time, *Rejection) {
	if text == "" {
		return time.Time{}, reject(TimestampMissing)
	}
	if len(text) > 40 {
		return time.Time{}, reject(TimestampMalformed)
	}
	if unit == unitRFC3339 {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return time.Time{}, reject(TimestampMalformed)
		}
		return at.UTC(), nil
	}
	return parseEpoch(text, unit)
}

func parseEpoch(text, unit string) (time.Time, *Rejection) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return time.Time{}, reject(TimestampMalformed)
		}
	}
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, reject(TimestampMalformed)
	}
	if unit == unitMillis {
		return boundTime(time.UnixMilli(count))
	}
	if count > lastSecond {
		return time.Time{}, reject(TimestampMalformed)
	}
	return boundTime(time.Unix(count, 0))
}

func boundTime(at time.Time) (time.Time, *Rejection) {
	if at.Unix() > lastSecond {
		return time.Time{}, reject(TimestampMalformed)
	}
	return at.UTC(), nil
}

// checkTime tells whether a signed time is within the tolerance on both sides. No tolerance: any time is.
func checkTime(at, now time.Time, tolerance time.Duration) *Rejection {
	if tolerance == 0 {
		return nil
	}
	if at.Before(now.Add(-tolerance)) || at.After(now.Add(tolerance)) {
		return reject(TimestampOutOfBounds)
	}
	return nil
}

func formatTime(at time.Time, unit string) string {
	switch unit {
	case unitMillis:
		return strconv.FormatInt(at.UnixMilli(), 10)
	case unitRFC3339:
		return at.UTC().Format(time.RFC3339)
	}
	return strconv.FormatInt(at.Unix(), 10)
}

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

// parseEpoch counts from 1970. All times from 2001 to 2286 have the same number of digits, so that no digit can move to a
// neighbour in the signed text, and a time has one form only.
func parseEpoch(text, unit string) (time.Time, *Rejection) {
	digits := len("1000000000")
	if unit == unitMillis {
		digits = len("1000000000000")
	}
	if len(text) != digits || text[0] == '0' {
		return time.Time{}, reject(TimestampMalformed)
	}
	var count int64
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return time.Time{}, reject(TimestampMalformed)
		}
		count = count*10 + int64(text[i]-'0')
	}
	if unit == unitMillis {
		return time.UnixMilli(count).UTC(), nil
	}
	return time.Unix(count, 0).UTC(), nil
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

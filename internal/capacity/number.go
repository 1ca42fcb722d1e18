package capacity

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// number is for people: groups of three digits, and of small numbers up to four decimals.
func number(value float64) string {
	if math.Abs(value) < 1000 {
		return strconv.FormatFloat(math.Round(value*1e4)/1e4, 'f', -1, 64)
	}
	text := strconv.FormatFloat(math.Round(value), 'f', 0, 64)
	var grouped strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			grouped.WriteByte(',')
		}
		grouped.WriteRune(digit)
	}
	return grouped.String()
}

func optional(value *float64) string {
	if value == nil {
		return "-"
	}
	return strconv.FormatFloat(*value, 'f', 1, 64)
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func about(sampled float64) string {
	if sampled < 1 {
		return "~"
	}
	return ""
}

// size is bytes in a unit of 1000s.
func size(bytes float64) string {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if bytes >= unit.bytes {
			return strconv.FormatFloat(bytes/unit.bytes, 'f', 2, 64) + " " + unit.name
		}
	}
	return number(bytes) + " B"
}

// span is a time in words, rounded.
func span(d time.Duration) string {
	if d >= 48*time.Hour {
		return number(Days(d)) + " days"
	}
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	text := strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		return strings.TrimSuffix(text, "0m")
	}
	return text
}

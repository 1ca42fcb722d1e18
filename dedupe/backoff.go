package dedupe

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

const (
	defaultInitial = 5 * time.Second
	defaultMax     = time.Hour
)

func (b Backoff) bounds() (initial, longest time.Duration) {
	initial, longest = b.Initial, b.Max
	if initial <= 0 {
		initial = defaultInitial
	}
	if longest <= 0 {
		longest = defaultMax
	}
	return min(initial, longest), longest
}

// after is the wait behind attempt 1, 2, …: anything between nothing and a bound that doubles each time.
func (b Backoff) after(attempt int) time.Duration {
	bound, longest := b.bounds()
	for ; attempt > 1 && bound < longest; attempt-- {
		bound = min(2*bound, longest)
	}
	return b.jitter(bound)
}

// since is the wait for an application that has been out of reach since the event came: it grows with the event's age.
func (b Backoff) since(age time.Duration) time.Duration {
	initial, longest := b.bounds()
	return b.jitter(min(max(initial, age/2), longest))
}

// asked is the wait that the application asks for, at most Max.
func (b Backoff) asked(answer *delivery.Response) time.Duration {
	if answer == nil {
		return 0
	}
	_, longest := b.bounds()
	return min(retryAfter(answer.Header), longest)
}

func (b Backoff) jitter(bound time.Duration) time.Duration {
	random := rand.Float64
	if b.Jitter != nil {
		random = b.Jitter
	}
	return time.Duration(random() * float64(bound))
}

// retryAfter reads seconds, of which there may be more than any wait lasts, or a date: relative to the answer's own Date,
// so that no other clock takes part, or to this machine's where there is none. What it cannot read asks for nothing.
func retryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, _ := strconv.ParseUint(text, 10, 31) // out of range it is the largest in range
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		from = time.Now()
	}
	return max(0, until.Sub(from))
}

// listed tells whether a comma-separated list of field names holds name, in any case.
func listed(list, name string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(item), name) {
			return true
		}
	}
	return false
}

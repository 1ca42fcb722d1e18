package config

import (
	"net/http"
	"slices"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// Bounds and defaults of stored jobs.
const (
	defaultAttempts    = 200
	defaultRetryAge    = 72 * time.Hour
	defaultInitial     = 5 * time.Second
	defaultLongest     = time.Hour
	maxConcurrency     = 1_000_000
	maxAcknowledgement = 64 << 10
)

// queueing reads how events are stored and worked off.
func (m *mapping) queueing(i *Integration) {
	i.Accept = m.choice("mode", "forward", "forward", "accept") == "accept"
	i.Queue = m.choice("on_failure", "respond", "respond", "queue") == "queue"
	i.Concurrency = m.number("concurrency", 0, 0, maxConcurrency)
	i.Retry, i.Backoff = m.section("retry").retry()
	i.Acknowledge = m.section("accept").acknowledgement()
}

func (m *mapping) retry() (dedupe.Limit, dedupe.Backoff) {
	limit := dedupe.Limit{
		MaxAttempts: m.number("max_attempts", defaultAttempts, 1, 1_000_000),
		MaxAge:      m.window("max_age", defaultRetryAge),
	}
	backoff := dedupe.Backoff{Initial: m.window("initial", defaultInitial), Max: m.window("max", defaultLongest)}
	if backoff.Initial > backoff.Max {
		key := "initial"
		if !m.has("initial") {
			key = "max"
		}
		m.fail(key, "the first wait of up to %s is longer than max of %s", FormatDuration(backoff.Initial), FormatDuration(backoff.Max))
	}
	m.done()
	return limit, backoff
}

func (m *mapping) acknowledgement() proxy.Acknowledgement {
	ack := proxy.Acknowledgement{
		Status: m.number("status", http.StatusAccepted, 200, 299),
		Body:   m.text("body", ""), ContentType: m.text("content_type", "text/plain"),
	}
	if slices.Contains([]int{http.StatusNoContent, http.StatusResetContent}, ack.Status) && ack.Body != "" {
		m.fail("body", "status %d has no body", ack.Status)
	}
	if len(ack.Body) > maxAcknowledgement {
		m.fail("body", "want at most %s", FormatSize(maxAcknowledgement))
	}
	if !fieldValue(ack.ContentType) {
		m.fail("content_type", "is no header value")
	}
	m.done()
	return ack
}

// fieldValue tells whether a header may have the value.
func fieldValue(text string) bool {
	return !slices.ContainsFunc([]byte(text), func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// acknowledges tells whether this integration's senders ever get the acknowledgement.
func (i *Integration) acknowledges() bool { return i.Accept || i.Queue }

package config

import (
	"net/textproto"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Bounds and defaults of how deliveries are handled.
const (
	defaultMaxBody = 1 << 20
	maxMaxBody     = 1 << 30
	defaultTimeout = 20 * time.Second
	defaultLease   = 30 * time.Second
	maxTimeout     = time.Hour
	leaseMargin    = 5 * time.Second // beyond the timeout, to record the result in
	maxRecordBody  = 1 << 20
	maxRetention   = 3650 * day
	defaultWindow  = 72 * time.Hour
)

// handling reads what happens to a delivery that has proved who it is from.
func (m *mapping) handling(i *Integration) {
	i.MaxBody = m.maxBody(i.preset.MaxBody)
	i.Timeout = m.window("timeout", defaultTimeout)
	i.Lease = m.duration("lease", defaultLease)
	m.checkLease(i.Timeout, i.Lease)
	i.DuplicateWait = m.duration("duplicate_wait", 0)
	if i.DuplicateWait > i.Lease {
		m.fail("duplicate_wait", "%s is longer than the lease of %s", FormatDuration(i.DuplicateWait), FormatDuration(i.Lease))
	}
	i.InFlightStatus = m.inFlightStatus(i.preset.InFlightStatus)
	i.Record = m.section("record").record()
	i.ReplayConflict = m.choice("conflict", "reject", "reject", "replay") == "replay"
	i.Quarantine = m.choice("in_doubt", "retry", "retry", "quarantine") == "quarantine"
	i.ForwardLimit = m.section("forward_limit").limit()
	i.Retention = m.section("retention").retention(i.preset.SenderWindow)
	i.KeyHeader, i.KeyScoped = m.section("idempotency").idempotency()
	i.Owner = m.text("owner", "")
	i.DocsReviewed = m.date("docs_reviewed")
}

func (m *mapping) maxBody(preset int64) int64 {
	if preset == 0 {
		preset = defaultMaxBody
	}
	size := m.size("max_body", preset)
	if size < 1 || size > maxMaxBody {
		m.fail("max_body", "want 1 to %s", FormatSize(maxMaxBody))
	}
	return size
}

// checkLease holds a lease against the timeout. The margin that the documentation asks for is a matter of warnings,
// because a short one costs safety only when the ledger is slow.
func (m *mapping) checkLease(timeout, lease time.Duration) {
	if timeout > maxTimeout {
		m.fail("timeout", "%s is longer than %s", FormatDuration(timeout), FormatDuration(maxTimeout))
	}
	if lease > timeout {
		return
	}
	key, of := "lease", "lease"
	if !m.has("lease") {
		key, of = "timeout", "default lease"
	}
	m.fail(key, "the %s of %s is not longer than the timeout of %s; it must be at least timeout + %s",
		of, FormatDuration(lease), FormatDuration(timeout), FormatDuration(leaseMargin))
}

func (m *mapping) inFlightStatus(preset int) int {
	if preset == 0 {
		preset = 503
	}
	status := m.number("in_flight_status", preset, 0, 999)
	switch status {
	case 503, 409, 425, 429:
	default:
		m.fail("in_flight_status", "want 503, 409, 425 or 429")
	}
	return status
}

func (m *mapping) record() Record {
	var record Record
	record.Statuses = m.statuses("statuses", []string{"2xx"})
	if len(record.Statuses.Written) == 0 {
		m.fail("statuses", "is empty: no answer would ever be final")
	}
	record.Rejected = m.statuses("rejected", []string{"400", "410", "413", "415", "422"})
	record.saysRejected = m.has("rejected")
	if both := record.Statuses.common(record.Rejected); both != 0 && record.saysRejected {
		m.fail("rejected", "%d is in statuses, too: an answer cannot be both final and rejected", both)
	}
	for _, name := range m.texts("headers", []string{"Content-Type", "Location", "ETag"}) {
		record.Headers = append(record.Headers, m.recordHeader(name))
	}
	record.MaxBody = m.size("max_body", 4<<10)
	if record.MaxBody > maxRecordBody {
		m.fail("max_body", "want at most %s: recorded results stay small", FormatSize(maxRecordBody))
	}
	m.done()
	return record
}

func (m *mapping) statuses(name string, fallback []string) Statuses {
	parsed, err := ParseStatuses(m.texts(name, fallback))
	if err != nil {
		m.fail(name, "%v", err)
		parsed, _ = ParseStatuses(fallback)
	}
	return parsed
}

// recordHeader refuses headers that belong to one answer or one client and would leak into a replay.
func (m *mapping) recordHeader(name string) string {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	if !httpguts.ValidHeaderFieldName(name) {
		m.fail("headers", "%q is no header name", name)
	}
	switch canonical {
	case "Set-Cookie", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Trailer", "Te",
		"Date", "Proxy-Authenticate", "Www-Authenticate", "Idempotent-Replayed":
		m.fail("headers", "%s belongs to one answer and cannot be recorded", canonical)
	}
	if strings.HasPrefix(canonical, "Sidecar-") {
		m.fail("headers", "%s is the sidecar's own", canonical)
	}
	return canonical
}

func (m *mapping) limit() dedupe.Limit {
	limit := dedupe.Limit{
		MaxAttempts: m.number("max_attempts", 0, 1, 1_000_000),
		MaxAge:      m.duration("max_age", 0),
	}
	m.done()
	return limit
}

func (m *mapping) retention(senderWindow time.Duration) Retention {
	if senderWindow == 0 {
		senderWindow = defaultWindow
	}
	retention := Retention{
		SenderWindow: m.window("sender_window", senderWindow),
		RepairWindow: m.duration("repair_window", 96*time.Hour),
		ClockSkew:    m.duration("clock_skew", 5*time.Minute),
		DeadLetter:   m.window("dead_letter", 30*day),
	}
	m.done()
	for name, window := range map[string]time.Duration{
		"sender_window": retention.SenderWindow, "repair_window": retention.RepairWindow,
		"clock_skew": retention.ClockSkew, "dead_letter": retention.DeadLetter,
	} {
		if window > maxRetention {
			m.fail(name, "want at most %s", FormatDuration(maxRetention))
		}
	}
	return retention
}

func (m *mapping) idempotency() (header string, scoped bool) {
	header = m.headerName("header", "Idempotency-Key")
	if header == "" {
		m.fail("header", "is empty")
	}
	if reservedHeader(header) {
		m.fail("header", "%s has a meaning of its own on the way to the application", header)
	}
	scoped = m.choice("value", "event_id", "event_id", "scoped") == "scoped"
	m.done()
	return header, scoped
}

func reservedHeader(name string) bool {
	switch name {
	case "Host", "Connection", "Te", "Trailer", "Upgrade", "Transfer-Encoding", "Keep-Alive", "Expect", "Accept-Encoding",
		"Traceparent", "Tracestate", "Baggage", "Date", "Authorization", "Cookie":
		return true
	}
	for _, prefix := range []string{"Sidecar-", "Content-", "Proxy-", "X-Forwarded-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

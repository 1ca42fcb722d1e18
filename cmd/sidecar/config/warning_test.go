package config

import (
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

func warnings(t *testing.T, text string, environ Environment, more files) string {
	t.Helper()
	set := mustLoad(t, text, more)
	full := Environment{"SIDECAR_LISTEN": "127.0.0.1:8700"}
	for name, value := range environ {
		full[name] = value
	}
	settings, err := LoadSettings(full)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, warning := range Warn(settings, set) {
		lines = append(lines, warning.String())
	}
	return strings.Join(lines, "\n")
}

func TestWarnings(t *testing.T) {
	guarded := Environment{"SIDECAR_GUARD": "/webhooks"}
	for name, c := range map[string]struct {
		text    string
		environ Environment
		more    files
		want    string
	}{
		"no guard":            {integration(), nil, nil, "SIDECAR_GUARD: is not set"},
		"long timeout":        {integration("timeout: 26s", "lease: 40s"), guarded, nil, "timeout: 26s is longer than SIDECAR_SHUTDOWN_TIMEOUT of 25s"},
		"short lease":         {integration("timeout: 5s", "lease: 8s"), guarded, nil, "lease: 8s is less than timeout + 5s"},
		"short retention":     {integration("retention: {sender_window: 1h}"), guarded, nil, "sender_window of 1h is shorter than the 3d"},
		"short secret":        {integration(), guarded, files{"/run/good": "short"}, "the secret of credential k1 has only 5 bytes"},
		"shared secret":       {integration() + strings.NewReplacer("acme", "globex", "/webhooks/stripe", "/b").Replace(integration()), guarded, nil, "shares its secret with account acme"},
		"several scopes":      {integration() + strings.NewReplacer("payments", "refunds", "/webhooks/stripe", "/b").Replace(integration()), guarded, nil, "value: event_id with 2 scopes"},
		"old documentation":   {integration("docs_reviewed: 2020-01-01"), guarded, nil, "last read on 2020-01-01"},
		"in-flight status":    {integration("in_flight_status: 409"), guarded, nil, "in_flight_status: 409 where 503 suits stripe"},
		"limit in accept":     {integration("mode: accept", "forward_limit: {max_attempts: 3}"), guarded, nil, "forward_limit: says nothing in accept mode"},
		"queue in accept":     {integration("mode: accept", "on_failure: queue"), guarded, nil, "on_failure: says nothing in accept mode"},
		"wait in accept":      {integration("mode: accept", "duplicate_wait: 1s"), guarded, nil, "duplicate_wait: says nothing in accept mode"},
		"accept in forward":   {integration("accept: {status: 200}"), guarded, nil, "accept: says nothing in forward mode without on_failure: queue"},
		"rejected in forward": {integration("record: {rejected: [422]}"), guarded, nil, "record: rejected says nothing in forward mode"},
		"concurrency":         {integration("concurrency: 3"), guarded, nil, "concurrency: bounds the worker's attempts only"},
		"no timestamp":        {generic(), guarded, nil, "no timestamp: a captured delivery stays valid"},
		"unsigned ID":         {strings.Replace(generic(), "{json: /id}", "{header: X-Id}", 1), guarded, nil, "event: the event ID is not signed"},
		"trusted ID":          {strings.Replace(integration("unsigned_id: trust"), "provider: stripe", "provider: github", 1), guarded, nil, "unsigned_id: trust, and the event ID is not signed"},
		"nothing live":        {strings.Replace(integration(), "id: k1", "id: k1, status: revoked", 1), guarded, nil, "no credential is or will be live"},
		"expired":             {strings.Replace(integration(), "id: k1", "id: k1, not_after: 2020-01-01T00:00:00Z", 1), guarded, nil, "no credential is or will be live"},
		"expired key":         {expiredKey(), guarded, files{"/run/good": plaidKey}, "the certificate or key of credential k1 expired on 2019-06-14"},
		"only expired keys":   {expiredKey(), guarded, files{"/run/good": plaidKey}, "no credential is or will be live"},
		"white space":         {integration(), guarded, files{"/run/good": testSecret + " \n"}, "begins or ends with white space"},
		"body budget":         {integration("max_body: 2MiB"), Environment{"SIDECAR_MAX_INFLIGHT_BYTES": "4MiB"}, nil, "max_body: 2MiB is more than the 1MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			got := warnings(t, "integrations:\n"+c.text, c.environ, c.more)
			if !strings.Contains(got, c.want) {
				t.Errorf("want %q among\n%s", c.want, got)
			}
			if strings.Contains(got, "0123456789abcdef") {
				t.Errorf("a warning tells a secret:\n%s", got)
			}
		})
	}
}

// plaidKey is a published public key, of which expired_at is made up.
const plaidKey = `{"alg": "ES256", "crv": "P-256", "kid": "bfbd5111-8e33-4643-8ced-b2e642a72f3c", "kty": "EC", "use": "sig",
	"x": "K0SxIJgSElwD6y_mTJhvys5S3rErPM6swYwykzXh3lM", "y": "jgSUpyRUho9umvYi6AeGnY4go7P-_uL8K8mGa7kLRb4", "expired_at": 1560500000}`

// expiredKey is an integration with that key.
func expiredKey() string {
	return strings.Replace(integration("event: {id: {hash: body}}"), "provider: stripe", "provider: plaid", 1)
}

func TestNoWarningWhereAllIsWell(t *testing.T) {
	text := strings.Replace(generic(), `"{body}"}`, `"{timestamp}.{body}", timestamp: {header: X-Timestamp}}`, 1)
	got := warnings(t, "integrations:\n"+text, Environment{"SIDECAR_GUARD": "/webhooks"}, nil)
	for line := range strings.Lines(got) {
		if !strings.Contains(line, ".provider: hmac: ") { // the sender's own weaknesses are always told
			t.Errorf("a warning about nothing: %s", line)
		}
	}
}

// Whoever keeps receipts for less time than a sender may retry is told so, whichever sender it is.
func TestRetentionShorterThanTheSendersWindow(t *testing.T) {
	set := mustLoad(t, "integrations:\n"+integration("retention: {sender_window: 1h}"), nil)
	warns := func(p verify.Preset, window time.Duration) bool {
		one := *set.Integrations[0]
		one.preset, one.Provider, one.Retention.SenderWindow = p, p.Name, window
		of := Set{Integrations: []*Integration{&one}}
		of.warnTimes(&one)
		for _, w := range of.Warnings {
			if strings.Contains(w.String(), "is shorter than the "+FormatDuration(p.SenderWindow)+" for which "+p.Name+" retries") {
				return true
			}
		}
		return false
	}
	known := 0
	for _, p := range verify.Presets() {
		if p.SenderWindow > 0 {
			known++
		}
		if got := warns(p, max(p.SenderWindow, 2*time.Second)-time.Second); got != (p.SenderWindow > 0) {
			t.Errorf("%s, just shorter than its window of %v: warned %t", p.Name, p.SenderWindow, got)
		}
		if warns(p, p.SenderWindow) {
			t.Errorf("%s, exactly its window: warned", p.Name)
		}
	}
	if known < 30 {
		t.Errorf("only %d presets know how long their sender retries", known)
	}
}

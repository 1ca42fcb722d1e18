package console_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

func TestDeadLettersTellOwnerAgesAndRetention(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	receipts := []dedupe.Receipt{
		{Scope: "acme/orders", EventID: "evt-1", Reference: "0123456789abcdef", State: dedupe.Dead, Reason: dedupe.Rejected, Attempts: 3,
			Status: 422, Created: now.Add(-49 * time.Hour), Changed: now.Add(-90 * time.Minute), HasJob: true},
		{Scope: "gone/shop", EventID: "evt-2", State: dedupe.Dead, Reason: dedupe.Quarantined, Created: now.Add(time.Second), Changed: now},
	}
	letters := console.NewDeadLetters(receipts, func(scope delivery.Scope) console.About {
		if scope == "acme/orders" {
			return console.About{Owner: "orders-oncall", Keep: 30 * 24 * time.Hour}
		}
		return console.About{}
	}, now)
	text, err := json.Marshal(letters)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"owner":"orders-oncall"`, `"age_seconds":176400`, `"dead_seconds":5400`, `"reason":"rejected"`,
		`"request":"kept"`, `"request_until":"2026-12-30T10:30:00Z"`, `"attempts":3`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the JSON lacks %s: %s", want, text)
		}
	}
	var page bytes.Buffer
	if err := console.DeadLetters(&page, letters); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(page.String(), "\n")
	for i, want := range [][]string{
		{"REASON", "DEAD FOR", "OWNER"},
		{"rejected", "3", "422", "2d1h", "1h30m", "kept until 2026-12-30 10:30:00Z", "orders-oncall"},
		{"quarantined", "0s", "none", "-"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d lacks %q: %s", i, part, lines[i])
			}
		}
	}
}

func TestNoDeadLettersAreAList(t *testing.T) {
	if text, err := json.Marshal(console.NewDeadLetters(nil, nil, time.Now())); err != nil || string(text) != "[]" {
		t.Errorf("%s, %v", text, err)
	}
}

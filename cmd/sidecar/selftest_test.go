package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// senders is an integrations file with one integration of each of these providers.
func (r *rig) senders(t *testing.T, providers ...string) {
	t.Helper()
	text := "integrations:\n"
	for _, provider := range providers {
		r.write(provider, demoSecrets()[provider]+"\n")
		text += fmt.Sprintf(`  - account: acme
    name: %[1]s
    route: /hooks/%[1]s
    provider: %[1]s
    docs_reviewed: %[2]s
    credentials: [{id: k1, secret: {file: %[1]s}}]
`, strings.TrimPrefix(provider, "own-"), time.Now().AddDate(0, 0, -100).Format(time.DateOnly))
	}
	r.configure(text)
}

func TestSelftestJudgesByTheConfiguration(t *testing.T) {
	providers := []string{"github", "shopify", "slack", "standard-webhooks"}
	r := newRig(t)
	r.senders(t, providers...)
	for _, provider := range providers {
		out := r.must("selftest", "acme/"+provider, "--json")
		var report selftestReport
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, step := range report.Deliveries {
			got[step.Name] = step.Verdict + " " + step.Got
		}
		for name, want := range map[string]string{
			"without a signature": "passed 401", "tampered body": "passed 401", "altered signature": "passed 401",
			"valid": "passed 200 applied", "duplicate": "passed 200 replayed",
		} {
			if got[name] != want {
				t.Errorf("%s, %s: %s, want %s", provider, name, got[name], want)
			}
		}
		if stale := got["stale"]; stale != "passed 401" && stale != "n/a " {
			t.Errorf("%s, stale: %s", provider, stale)
		}
		if !report.Passed || report.PresetRead == "" || len(report.Warnings) != 0 || strings.Contains(out, demoSecrets()[provider]) {
			t.Errorf("%s: %s", provider, out)
		}
	}
	if seen := r.runs(); seen != "" {
		t.Errorf("the application was reached: %s", seen)
	}
}

func TestSelftestInAcceptModeWhilePaused(t *testing.T) {
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}}", "mode: accept", "paused: true"))
	out := r.must("selftest", "acme/orders")
	if strings.Count(out, "202 queued") != 2 || !strings.Contains(out, "docs_reviewed is not set") {
		t.Errorf("%s", out)
	}
}

func TestSelftestWarnsOfOldReadings(t *testing.T) {
	r := newRig(t)
	r.senders(t, "github")
	if out := r.must("selftest", "acme/github", "--reviewed-within", "90d"); !strings.Contains(out, "100 days ago") {
		t.Errorf("%s", out)
	}
	if status, _ := r.command("", "selftest", "acme/github", "--reviewed-within", "soon"); status != exitUsage {
		t.Errorf("exit %d", status)
	}
}

// A configuration that trusts what it must not, or refuses what the sender sends, fails.
func TestSelftestFindsAWrongConfiguration(t *testing.T) {
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}, not_after: 2026-01-01T00:00:00Z}, {id: k2, secret: {file: second}, status: retiring}"))
	if out := r.must("selftest", "acme/orders"); !strings.Contains(out, "no active credential") {
		t.Errorf("%s", out)
	}
	r.configure(strings.Replace(orders("{id: k1, secret: {file: first}}"), "{json: /id}", "{header: X-Event-Id}", 1))
	r.write("body", `{"id":"x"}`)
	if out := r.must("selftest", "acme/orders", "--body", r.path("body")); !strings.Contains(out, "200 applied") {
		t.Errorf("%s", out)
	}
	r.configure(orders("{id: k1, secret: {file: first}}"))
	r.write("body", `{"no":"id"}`)
	status, out := r.command("", "selftest", "acme/orders", "--body", r.path("body"))
	if status != exitFailed || !strings.Contains(out, "400, must be 200 applied") || !strings.Contains(out, "FAILED") {
		t.Errorf("exit %d: %s", status, out)
	}
}

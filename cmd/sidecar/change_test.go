package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Whoever calls a command wrongly is told so whatever the ledger knows, and while there is none.
func TestWrongUsageOfAChangeIsToldWithoutALedger(t *testing.T) {
	env := config.Environment{
		"DATABASE_URL": "sqlite:" + t.TempDir() + "/ledger.db", "SIDECAR_UPSTREAM": "http://127.0.0.1:9", "SIDECAR_CONFIG": "none.yaml",
	}
	why := []string{"--actor", "ana", "--reason", "because"}
	for _, word := range [][]string{{"receipts", "reopen"}, {"receipts", "show"}, {"dead-letters", "replay"}, {"dead-letters", "close"}} {
		for name, c := range map[string]struct {
			args []string
			want int
			says string
		}{
			"fine":            {[]string{"acme/orders", "evt-1"}, exitFailed, "there is no ledger"},
			"no scope":        {[]string{"acme", "evt-1"}, exitUsage, "scope"},
			"no event ID":     {[]string{"acme/orders", "evt 1"}, exitUsage, "ID"},
			"no reference":    {[]string{"evt-1"}, exitUsage, "event reference"},
			"too many events": {[]string{"acme/orders", "evt-1", "evt-2"}, exitUsage, word[1]},
		} {
			args := slices.Concat(word, c.args)
			if word[1] != "show" {
				args = append(args, why...)
			}
			if status, _, err := inProcess(t, env, "", args...); status != c.want || !strings.Contains(err, c.says) {
				t.Errorf("%s: %v: exit %d, want %d and %q: %s", name, args, status, c.want, c.says, err)
			}
		}
	}
	for _, answer := range []string{"99", "199", "600", "-1", "ok", ""} {
		args := append([]string{"dead-letters", "close", "acme/orders", "evt-1", "--answer", answer}, why...)
		if status, _, err := inProcess(t, env, "", args...); status != exitUsage || !strings.Contains(err, "want a status from 200 to 599") {
			t.Errorf("--answer %q: exit %d: %s", answer, status, err)
		}
	}
}

// Of two people who act on one event at the same instant the second is told what the state is, and that it has changed.
func TestWhoComesSecondIsToldTheStateOfNow(t *testing.T) {
	r := quarantined(t)
	p := &program{out: &bytes.Buffer{}, err: &bytes.Buffer{}, environ: r.env}
	err := p.change(t.Context(), "dead-letters replay", []string{"acme/orders", "evt-dead", "--actor", "ana", "--reason", "because"}, nil,
		func(desk dedupe.Desk, receipt dedupe.Receipt, by dedupe.Act) (string, error) {
			other := dedupe.Act{Actor: "bob", Reason: "done by hand"}
			if err := desk.Close(t.Context(), receipt.Scope, receipt.EventID, 200, other); err != nil {
				t.Fatal(err)
			}
			_, err := desk.Replay(t.Context(), receipt.Scope, receipt.EventID, by)
			return "replayed", err
		})
	if err == nil || !strings.Contains(err.Error(), "has changed: it is closed now") || p.finish(err) != exitFailed {
		t.Errorf("the second hears %v", err)
	}
	if status, out := r.command("", "dead-letters", "close", "acme/orders", "evt-dead", "--actor", "ana", "--reason", "again"); status != exitFailed ||
		!strings.Contains(out, "evt-dead in acme/orders is closed") || strings.Contains(out, "has changed") {
		t.Errorf("what was so before: exit %d: %s", status, out)
	}
}

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// inProcess runs a command that ends by itself, with an environment of its own.
func inProcess(t *testing.T, environ config.Environment, stdin string, args ...string) (status int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &program{in: strings.NewReader(stdin), out: &stdout, err: &stderr, environ: environ}
	status = p.dispatch(t.Context(), args)
	return status, stdout.String(), stderr.String()
}

func TestExitStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want int
		says string
	}{
		"help":                 {[]string{"--help"}, 0, "Usage: sidecar"},
		"version":              {[]string{"version"}, 0, "go1."},
		"version flag":         {[]string{"--version"}, 0, "go1."},
		"providers":            {[]string{"providers"}, 0, "stripe"},
		"a command's help":     {[]string{"sign", "-h"}, 0, "--integration ACCOUNT/NAME"},
		"unknown command":      {[]string{"serve"}, 2, `unknown command "serve"`},
		"unknown flag":         {[]string{"version", "--loud"}, 2, "version [--json]"},
		"an argument too many": {[]string{"check", "this"}, 2, "sidecar check"},
		"audit nothing":        {[]string{"audit"}, 2, "verify|export"},
		"no anchor":            {[]string{"audit", "verify", "--anchor", "a/b:1"}, 2, "SCOPE:NUMBER:SUM"},
		"no such anchors":      {[]string{"audit", "verify", "--anchor-file", "/nowhere"}, 2, "audit verify [SCOPE]"},
		"no such time":         {[]string{"audit", "export", "--since", "yesterday"}, 2, "want a time like"},
		"sign nothing":         {[]string{"sign"}, 2, "--body FILE"},
		"verify nothing":       {[]string{"verify"}, 2, "--provider NAME"},
		"verify both":          {[]string{"verify", "--provider", "stripe", "--integration", "a/b"}, 2, "--provider NAME"},
		"unknown provider":     {[]string{"verify", "--provider", "nobody", "--secret-file", "x"}, 2, "is no provider"},
		"no word":              {[]string{"receipts"}, 2, "list|show|reopen"},
		"wrong word":           {[]string{"dead-letters", "bury"}, 2, "list|show|replay|close"},
		"no settings":          {[]string{"receipts", "list"}, 2, "DATABASE_URL"},
		"no reason":            {[]string{"receipts", "reopen", "a/b", "c", "--actor", "ana"}, 2, "reason is missing"},
		"no actor":             {[]string{"dead-letters", "close", "a/b", "c", "--reason", "x"}, 2, "actor is missing"},
		"run without config":   {nil, 2, "DATABASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := inProcess(t, config.Environment{}, "", c.args...)
			if status != c.want || !strings.Contains(out+err, c.says) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", status, c.want, c.says, out, err)
			}
		})
	}
}

func TestTheUsageNamesEveryCommand(t *testing.T) {
	_, out, _ := inProcess(t, config.Environment{}, "", "help")
	for _, known := range commands() {
		if !strings.Contains(out, known.name) {
			t.Errorf("the usage does not name %s", known.name)
		}
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	p := &program{err: &bytes.Buffer{}}
	for _, args := range [][]string{{"--json", "a", "b"}, {"a", "--json", "b"}, {"a", "b", "--json"}} {
		flags := p.newFlags("x")
		asJSON := flags.Bool("json", false, "")
		plain, err := flags.parse(args, 2, 2)
		if err != nil || !*asJSON || strings.Join(plain, " ") != "a b" {
			t.Errorf("%v: %v, %v", args, plain, err)
		}
	}
	flags := p.newFlags("x")
	plain, err := flags.parse([]string{"a", "--", "--json"}, 2, 2)
	if err != nil || strings.Join(plain, " ") != "a --json" {
		t.Errorf("behind -- nothing is a flag: %v, %v", plain, err)
	}
}

// Help that was asked for is on standard output, with status 0, whatever else is missing: of every command, and of every
// word of those that have several.
func TestEveryCommandHelps(t *testing.T) {
	words := [][]string{{}}
	for _, known := range commands() {
		words = append(words, []string{known.name})
		if list, _, found := strings.Cut(known.summary, ":"); found && strings.Contains(list, "|") {
			for word := range strings.SplitSeq(list, "|") {
				words = append(words, []string{known.name, word})
			}
		}
	}
	if len(words) < 30 {
		t.Fatalf("only %d commands and words", len(words))
	}
	for _, command := range words {
		asks := [][]string{append(slices.Clone(command), "-h"), append(slices.Clone(command), "--help"), append([]string{"help"}, command...)}
		for _, args := range asks {
			status, out, err := inProcess(t, config.Environment{}, "", args...)
			if want := "Usage: sidecar " + strings.Join(command, " "); status != exitDone || !strings.HasPrefix(out, want) || err != "" {
				t.Errorf("sidecar %s: exit %d, want %q:\n%s\n%s", strings.Join(args, " "), status, want, out, err)
			}
		}
		if len(command) == 0 {
			continue
		}
		status, out, err := inProcess(t, config.Environment{}, "", append(slices.Clone(command), "--no-such-flag")...)
		if status != exitUsage || out != "" || !strings.Contains(err, "sidecar "+strings.Join(command, " ")) {
			t.Errorf("%v with an unknown flag: exit %d\n%s\n%s", command, status, out, err)
		}
	}
}

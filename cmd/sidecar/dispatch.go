package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// Exit statuses of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// command is one word behind sidecar.
type command struct {
	name    string
	summary string
	run     func(p *program, ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"run", "serve (also without a command)", (*program).run},
		{"demo", "see what it does, in one process", (*program).demo},
		{"check", "validate settings and integrations, print what is effective", (*program).check},
		{"migrate", "bring the ledger's schema up to date", (*program).migrate},
		{"sign", "print the headers of a correctly signed delivery", (*program).sign},
		{"verify", "tell why a captured delivery does (not) verify", (*program).verify},
		{"providers", "list the senders that are known", (*program).providers},
		{"receipts", "list|show|reopen: what the ledger knows", (*program).receipts},
		{"dead-letters", "list|show|replay|close: what waits for a person", (*program).deadLetters},
		{"pause", "hold an integration", (*program).pause},
		{"resume", "let an integration go on", (*program).resume},
		{"audit", "verify|export: has evidence been changed, and all of it", (*program).audit},
		{"capacity", "plan the ledger's size, and measure it", (*program).capacity},
		{"seal", "status|rotate: what is kept under which key", (*program).seal},
		{"drill", "the leaked-key drill, in a ledger of its own", (*program).drill},
		{"selftest", "judge synthetic deliveries by the configuration, without the application", (*program).selftest},
		{"inject", "add the sidecar to manifests", (*program).inject},
		{"uninject", "take the sidecar out of manifests", (*program).uninject},
		{"version", "print version, commit and Go version", (*program).version},
	}
}

// errUsage marks mistakes in how a command was called.
var errUsage = errors.New("wrong usage")

// errFailed ends a command with status 1 that has told everything already.
var errFailed = errors.New("failed")

func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, args...))
}

// dispatch runs the command that the arguments name and returns the exit status.
func (p *program) dispatch(ctx context.Context, args []string) int {
	if len(args) == 0 {
		return p.finish(p.run(ctx, nil))
	}
	switch {
	case isHelp(args[0]) && len(args) > 1:
		args = append(args[1:], "-h") // of a command, which is its own affair
	case isHelp(args[0]):
		usage(p.out)
		return exitDone
	case args[0] == "-v", args[0] == "-version", args[0] == "--version":
		return p.finish(p.version(ctx, nil))
	}
	for _, known := range commands() {
		if known.name == args[0] {
			return p.finish(known.run(p, ctx, args[1:]))
		}
	}
	fmt.Fprintf(p.err, "sidecar: unknown command %q\n\n", args[0])
	usage(p.err)
	return exitUsage
}

// finish tells an error and turns it into an exit status.
func (p *program) finish(err error) int {
	var problems config.Problems
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.As(err, &problems):
		for _, problem := range problems {
			fmt.Fprintf(p.err, "error: %s\n", problem)
		}
		return exitUsage
	case errors.Is(err, errUsage), isInjectUsage(err):
		fmt.Fprintf(p.err, "sidecar: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(p.err, "sidecar: %v\n", err)
		return exitFailed
	}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: sidecar [COMMAND] [FLAGS]\n\nMakes webhook retries safe for applications that know nothing of them.\n\nCommands:\n")
	for _, known := range commands() {
		fmt.Fprintf(w, "  %-13s %s\n", known.name, known.summary)
	}
	fmt.Fprint(w, "\nsidecar COMMAND -h tells a command's flags. Settings come from the environment, integrations from the file\n"+
		"that SIDECAR_CONFIG names. Exit status: 0 done, 1 failed, 2 wrong usage or configuration.\n")
}

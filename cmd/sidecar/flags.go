package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// flags are the flags of one command. They may stand before, between and behind the other arguments.
type flags struct {
	*flag.FlagSet
	program *program
	usage   string
}

// newFlags makes the flags of a command; usage is what follows "sidecar".
func (p *program) newFlags(usage string) *flags {
	set := flag.NewFlagSet(usage, flag.ContinueOnError)
	set.SetOutput(p.err)
	set.Usage = func() {} // told by parse, to whom it concerns
	return &flags{set, p, usage}
}

// tell prints how the command is called: on standard output where somebody asked.
func (f *flags) tell(to io.Writer) {
	fmt.Fprintf(to, "Usage: sidecar %s\n", f.usage)
	f.SetOutput(to)
	f.PrintDefaults()
}

// parse reads the arguments and returns the ones that are no flags, of which there must be least to most.
func (f *flags) parse(args []string, least, most int) ([]string, error) {
	var plain []string
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				f.tell(f.program.out)
				return nil, err
			}
			f.tell(f.program.err)
			return nil, usagef("sidecar %s", f.usage)
		}
		rest := f.Args()
		if consumed := len(args) - len(rest); consumed > 0 && args[consumed-1] == "--" {
			plain = append(plain, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		plain, args = append(plain, rest[0]), rest[1:]
	}
	if len(plain) < least || len(plain) > most {
		return nil, usagef("sidecar %s", f.usage)
	}
	return plain, nil
}

// oneOf tells which word begins the arguments of a command that has several, and the rest.
func (p *program) oneOf(usage string, args []string, words ...string) (string, []string, error) {
	all := strings.Join(words, "|")
	switch {
	case len(args) > 0 && slices.Contains(words, args[0]):
		return args[0], args[1:], nil
	case len(args) > 0 && isHelp(args[0]):
		fmt.Fprintf(p.out, "Usage: sidecar %s %s\n\nsidecar %s %s -h tells the flags of one.\n", usage, all, usage, words[0])
		return "", nil, flag.ErrHelp
	}
	return "", nil, usagef("sidecar %s %s", usage, all)
}

// isHelp tells whether a word asks for help.
func isHelp(word string) bool {
	switch word {
	case "-h", "-help", "--help", "help":
		return true
	}
	return false
}

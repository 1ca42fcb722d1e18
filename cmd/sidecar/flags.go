package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// flags are the flags of one command. They may stand before, between and behind the other arguments.
type flags struct {
	*flag.FlagSet
	usage string
}

// newFlags makes the flags of a command; usage is what follows "sidecar".
func (p *program) newFlags(usage string) *flags {
	set := flag.NewFlagSet(usage, flag.ContinueOnError)
	set.SetOutput(p.err)
	set.Usage = func() {
		fmt.Fprintf(p.err, "Usage: sidecar %s\n", usage)
		set.PrintDefaults()
	}
	return &flags{set, usage}
}

// parse reads the arguments and returns the ones that are no flags, of which there must be least to most.
func (f *flags) parse(args []string, least, most int) ([]string, error) {
	var plain []string
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
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
func oneOf(usage string, args []string, words ...string) (string, []string, error) {
	if len(args) == 0 || !slices.Contains(words, args[0]) {
		return "", nil, usagef("sidecar %s %s", usage, strings.Join(words, "|"))
	}
	return args[0], args[1:], nil
}

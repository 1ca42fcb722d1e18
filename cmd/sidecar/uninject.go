package main

import (
	"context"
	"io"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

func (p *program) uninject(_ context.Context, args []string) error {
	flags := p.newFlags("uninject [FLAGS] [FILE]")
	var how injectFlags
	how.bind(flags)
	plain, err := flags.parse(args, 0, 1)
	if err != nil {
		return err
	}
	input, err := p.manifests(how.file, plain)
	if err != nil {
		return err
	}
	result, err := inject.Uninject(input)
	if err != nil {
		return err
	}
	p.report(result.Notes)
	text := string(result.Output)
	if how.diff {
		text = inject.Diff("before", "after", string(input), text)
	}
	_, err = io.WriteString(p.out, text)
	return err
}

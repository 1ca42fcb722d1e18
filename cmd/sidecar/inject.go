package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// injectFlags say what inject and uninject read and print.
type injectFlags struct {
	file  string
	diff  bool
	check bool
	emit  string
	keys  inject.Keys
}

func (p *program) inject(_ context.Context, args []string) error {
	flags := p.newFlags("inject [FLAGS] [FILE]")
	options, how := inject.Defaults(), injectFlags{}
	options.Image = imageOf(thisBuild().Version)
	options.Bind(flags.FlagSet)
	how.bind(flags)
	flags.BoolVar(&how.check, "check", false, "change nothing, tell whether the manifests lead round the sidecar (exit status 2)")
	flags.StringVar(&how.emit, "emit", "", "print the change as a kustomize component or as values of a chart: kustomize or values")
	flags.StringVar(&how.keys.Containers, "key", "", "for --emit=values: the chart's key for containers (extraContainers, native extraInitContainers)")
	flags.StringVar(&how.keys.Volumes, "volumes-key", "extraVolumes", "for --emit=values: the chart's key for volumes")
	plain, err := flags.parse(args, 0, 1)
	if err != nil {
		return err
	}
	input, err := p.manifests(how.file, plain)
	if err != nil {
		return err
	}
	if how.check {
		return p.checkManifests(input, options)
	}
	result, err := inject.Inject(input, options)
	if err != nil {
		return err
	}
	p.report(result.Notes)
	return p.printInjected(input, result, how, options)
}

func (h *injectFlags) bind(flags *flags) {
	flags.StringVar(&h.file, "f", "", "`file` with the manifests; empty or -: standard input")
	flags.BoolVar(&h.diff, "diff", false, "print the difference instead of the manifests")
}

// commitVersion is what Go calls a build of a commit that has no tag, or of a changed one: nobody pushes an image of it.
var commitVersion = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}$|[+ ]`)

// imageOf is the image of a version, where it is a release.
func imageOf(version string) string {
	if release, is := strings.CutPrefix(version, "v"); is && !commitVersion.MatchString(version) {
		return "webhook-sidecar:" + release
	}
	return "webhook-sidecar:latest"
}

// manifests reads the file that a flag or an argument names, or standard input.
func (p *program) manifests(file string, plain []string) ([]byte, error) {
	if len(plain) > 0 && file != "" {
		return nil, usagef("one file, by -f or as an argument")
	}
	if len(plain) > 0 {
		file = plain[0]
	}
	if file == "" || file == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(file)
}

// report goes to standard error: standard output is for manifests.
func (p *program) report(notes []inject.Note) {
	for _, note := range notes {
		fmt.Fprintln(p.err, note)
	}
}

func (p *program) checkManifests(input []byte, options inject.Options) error {
	found, err := inject.Check(input, options)
	if err != nil {
		return err
	}
	for _, unclosed := range found.Unclosed {
		fmt.Fprintln(p.err, "warning: "+unclosed)
	}
	for _, way := range found.Open {
		fmt.Fprintln(p.err, "open: "+way)
	}
	if len(found.Open) > 0 {
		return fmt.Errorf("%w: %d found", inject.ErrOpen, len(found.Open))
	}
	fmt.Fprintf(p.err, "no Service, host port or policy in these manifests leads round the sidecar of %s\n", strings.Join(found.Guarded, ", "))
	return nil
}

func (p *program) printInjected(input []byte, result inject.Result, how injectFlags, options inject.Options) error {
	text := string(result.Output)
	var err error
	switch {
	case how.diff:
		text = inject.Diff("before", "after", string(input), text)
	case how.emit == "kustomize":
		text, err = result.Kustomize()
	case how.emit == "values":
		text, err = result.Values(how.valueKeys(options))
	case how.emit != "":
		return usagef("--emit is kustomize or values, not %q", how.emit)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.out, text)
	return err
}

func (h *injectFlags) valueKeys(options inject.Options) inject.Keys {
	keys := h.keys
	if keys.Containers != "" {
		return keys
	}
	keys.Containers = "extraContainers"
	if native, err := options.Placement(); err == nil && native {
		keys.Containers = "extraInitContainers"
	}
	return keys
}

// isInjectUsage tells errors of inject that end with the status of a wrong call: nothing was deployed that should not be.
func isInjectUsage(err error) bool {
	return errors.Is(err, inject.ErrNoMatch) || errors.Is(err, inject.ErrOptions) || errors.Is(err, inject.ErrOpen)
}

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// build is what the go command stamped into this binary.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func thisBuild() build {
	b := build{Version: "unknown", Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		b.Commit += " (modified)"
	}
	return b
}

func (p *program) version(_ context.Context, args []string) error {
	flags := p.newFlags("version [--json]")
	asJSON := flags.Bool("json", false, "as JSON")
	if _, err := flags.parse(args, 0, 0); err != nil {
		return err
	}
	b := thisBuild()
	if *asJSON {
		return p.json(b)
	}
	_, err := fmt.Fprintf(p.out, "sidecar %s\ncommit  %s\ngo      %s\n", b.Version, b.Commit, b.Go)
	return err
}

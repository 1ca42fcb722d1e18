package main

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// program is what a command has of the process that it runs in.
type program struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	environ config.Environment
	// alter changes a server of the drill before it runs. Tests break promises with it, to see that the drill notices.
	alter func(*server) error
	// drillBound is what a drill declares, in place of its reload interval. Tests on a busy machine declare more.
	drillBound time.Duration
}

func newProgram() *program {
	environ := config.Environment{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		environ[name] = value
	}
	return &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: environ}
}

// lookupEnv is for secrets that the integrations file takes from the environment.
func (p *program) lookupEnv(name string) (string, bool) {
	value, set := p.environ[name]
	return value, set
}

// settings are the process settings; the error is a usage error.
func (p *program) settings() (config.Settings, error) { return config.LoadSettings(p.environ) }

// integrations reads the integrations file and its secrets once, as a command does that ends soon.
func (p *program) integrations(settings config.Settings) (*config.Set, error) {
	return config.LoadIntegrations(settings.Config, config.Source{ReadFile: os.ReadFile, LookupEnv: p.lookupEnv})
}

// inherited is this process's environment for a sidecar in a process of its own, with these settings in place of whatever
// settings it has.
func (p *program) inherited(settings config.Environment) []string {
	var env []string
	for name, value := range p.environ {
		_, ours := settings[name]
		if !ours && !strings.HasPrefix(name, "SIDECAR_") && !strings.HasPrefix(name, "OTEL_") && name != "REDIS_URL" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

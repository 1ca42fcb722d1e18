package config

import (
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/caarlos0/env/v11"
)

// Settings are the process settings, from the environment.
type Settings struct {
	Listen           string   `env:"SIDECAR_LISTEN" envDefault:":8700"`
	AdminListen      string   `env:"SIDECAR_ADMIN_LISTEN" envDefault:"127.0.0.1:8701"`
	ProbeListen      string   `env:"SIDECAR_PROBE_LISTEN" envDefault:":8702"`
	Upstream         string   `env:"SIDECAR_UPSTREAM" envDefault:"http://127.0.0.1:8080"`
	Namespace        string   `env:"SIDECAR_NAMESPACE" envDefault:"default"`
	Config           string   `env:"SIDECAR_CONFIG" envDefault:"/etc/sidecar/sidecar.yaml"`
	ReloadInterval   Duration `env:"SIDECAR_RELOAD_INTERVAL" envDefault:"2s"`
	Guard            []string `env:"SIDECAR_GUARD"`
	DatabaseURL      string   `env:"DATABASE_URL"`
	RedisURL         string   `env:"REDIS_URL"`
	Migrate          string   `env:"SIDECAR_MIGRATE" envDefault:"auto"`
	Passthrough      string   `env:"SIDECAR_PASSTHROUGH" envDefault:"on"`
	MaxInflight      Size     `env:"SIDECAR_MAX_INFLIGHT_BYTES" envDefault:"0"`
	DrainDelay       Duration `env:"SIDECAR_DRAIN_DELAY" envDefault:"3s"`
	ShutdownTimeout  Duration `env:"SIDECAR_SHUTDOWN_TIMEOUT" envDefault:"25s"`
	CredentialMaxAge Duration `env:"SIDECAR_CREDENTIAL_MAX_AGE" envDefault:"0s"`
	LogLevel         string   `env:"SIDECAR_LOG_LEVEL" envDefault:"info"`
	LogFormat        string   `env:"SIDECAR_LOG_FORMAT" envDefault:"json"`
	SealKeyFile      string   `env:"SIDECAR_SEAL_KEY_FILE"`
	AdminTokenFile   string   `env:"SIDECAR_ADMIN_TOKEN_FILE"`

	// ProbeExplicit tells that SIDECAR_PROBE_LISTEN was set: then its port must be free.
	ProbeExplicit bool
	// Database is DATABASE_URL, understood.
	Database Database
	// Level is SIDECAR_LOG_LEVEL, understood.
	Level slog.Level
}

// Environment is the process's environment by name.
type Environment map[string]string

// LoadSettings reads the settings. The error is a Problems that names every variable that is wrong.
func LoadSettings(environ Environment) (Settings, error) {
	var settings Settings
	var problems Problems
	if err := env.ParseWithOptions(&settings, env.Options{Environment: environ}); err != nil {
		problems = append(problems, parseProblems(err)...)
	}
	settings.ProbeExplicit = environ["SIDECAR_PROBE_LISTEN"] != ""
	problems = append(problems, unknownVariables(environ)...)
	problems = append(problems, settings.complete(environ)...)
	return settings, problems.err()
}

// parseProblems names the variables of the fields that could not be parsed.
func parseProblems(err error) Problems {
	var aggregate env.AggregateError
	if !errors.As(err, &aggregate) {
		return Problems{{Text: "environment: " + err.Error()}}
	}
	var problems Problems
	for _, one := range aggregate.Errors {
		var parse env.ParseError
		if errors.As(one, &parse) {
			problems = append(problems, Problem{Key: variableOf(parse.Name), Text: parse.Err.Error()})
			continue
		}
		problems = append(problems, Problem{Text: "environment: " + one.Error()})
	}
	return problems
}

func variableOf(field string) string {
	if found, ok := reflect.TypeFor[Settings]().FieldByName(field); ok {
		return found.Tag.Get("env")
	}
	return field
}

// variables are the names of all settings.
func variables() []string {
	var names []string
	for field := range reflect.TypeFor[Settings]().Fields() {
		if name := field.Tag.Get("env"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Timeout is the time for what is in flight at the end.
func (s Settings) Timeout() time.Duration { return time.Duration(s.ShutdownTimeout) }

package config

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestDefaultSettings(t *testing.T) {
	s, err := LoadSettings(Environment{"DATABASE_URL": "postgres://u:p@db/x"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != ":8700" || s.AdminListen != "127.0.0.1:8701" || s.ProbeListen != ":8702" || s.ProbeExplicit ||
		s.Upstream != "http://127.0.0.1:8080" || s.Namespace != "default" || s.Config != "/etc/sidecar/sidecar.yaml" ||
		time.Duration(s.ReloadInterval) != 2*time.Second || s.Migrate != "auto" || s.Passthrough != "on" ||
		time.Duration(s.DrainDelay) != 3*time.Second || s.Timeout() != 25*time.Second || s.Level != slog.LevelInfo ||
		s.LogFormat != "json" || s.MaxInflight <= 0 || s.MaxInflight > 256<<20 {
		t.Errorf("got %+v", s)
	}
}

func TestWrongSettingsAreNamedAllAtOnce(t *testing.T) {
	_, err := LoadSettings(Environment{
		"SIDECAR_LISTEN": "8700", "SIDECAR_UPSTREAM": "127.0.0.1:8080", "SIDECAR_NAMESPACE": "My App",
		"SIDECAR_RELOAD_INTERVAL": "1ms", "SIDECAR_GUARD": "webhooks", "REDIS_URL": "localhost:6379", "SIDECAR_MIGRATE": "yes",
		"SIDECAR_PASSTHROUGH": "maybe", "SIDECAR_MAX_INFLIGHT_BYTES": "lots", "SIDECAR_DRAIN_DELAY": "3", "SIDECAR_LOG_LEVEL": "loud",
		"SIDECAR_CREDENTIAL_MAX_AGE": "1ms", "SIDECAR_CONFG": "x", "DATABASE_URL": "mysql://u:hidden@h/d",
		"SIDECAR_LOG_FORMAT": "xml", "SIDECAR_SHUTDOWN_TIMEOUT": "0s",
	})
	lines := strings.Join(problemsOf(t, err), "\n")
	for _, want := range []string{
		"SIDECAR_LISTEN: ", "SIDECAR_UPSTREAM: ", "SIDECAR_NAMESPACE: ", "SIDECAR_RELOAD_INTERVAL: ", "SIDECAR_GUARD: ", "REDIS_URL: ",
		"SIDECAR_MIGRATE: ", "SIDECAR_PASSTHROUGH: ", "SIDECAR_MAX_INFLIGHT_BYTES: ", "SIDECAR_DRAIN_DELAY: ", "SIDECAR_LOG_LEVEL: ",
		"SIDECAR_CREDENTIAL_MAX_AGE: ",
		"SIDECAR_CONFG: unknown variable; did you mean SIDECAR_CONFIG?", "DATABASE_URL: ", "SIDECAR_LOG_FORMAT: ", "SIDECAR_SHUTDOWN_TIMEOUT: ",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("nothing says %q in\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "hidden") {
		t.Errorf("the errors tell a password:\n%s", lines)
	}
}

func TestWhereTheLedgerIs(t *testing.T) {
	for name, c := range map[string]struct {
		environ Environment
		want    string // of Database, or of the error
		valid   bool
	}{
		"unset and public":    {Environment{}, "must be set", false},
		"unset, any address":  {Environment{"SIDECAR_LISTEN": "0.0.0.0:8700"}, "must be set", false},
		"unset, loopback":     {Environment{"SIDECAR_LISTEN": "127.0.0.1:1"}, "embedded SQLite at ./sidecar.db", true},
		"unset, IPv6":         {Environment{"SIDECAR_LISTEN": "[::1]:1"}, "embedded SQLite at ./sidecar.db", true},
		"unset, localhost":    {Environment{"SIDECAR_LISTEN": "localhost:1"}, "embedded SQLite at ./sidecar.db", true},
		"sqlite":              {Environment{"DATABASE_URL": "sqlite:/data/l.db"}, "embedded SQLite at /data/l.db", true},
		"sqlite without path": {Environment{"DATABASE_URL": "sqlite:"}, "want sqlite:PATH", false},
		"postgres":            {Environment{"DATABASE_URL": "postgres://u:hidden@db:5432/x?sslmode=require"}, "PostgreSQL at db:5432/x", true},
		"several hosts":       {Environment{"DATABASE_URL": "postgresql://u:hidden@a:1,b:2/x?target_session_attrs=any"}, "PostgreSQL at a:1,b:2/x", true},
		"something else":      {Environment{"DATABASE_URL": "mongodb://u:hidden@h"}, "want postgres://", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := LoadSettings(c.environ)
			got := s.Database.String()
			if err != nil {
				got = err.Error()
			}
			if (err == nil) != c.valid || !strings.Contains(got, c.want) || strings.Contains(got, "hidden") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestInsideKubernetes(t *testing.T) {
	inside := Environment{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "DATABASE_URL": "postgres://db/x"}
	if _, err := LoadSettings(inside); err == nil || !strings.Contains(err.Error(), "SIDECAR_NAMESPACE: must be set inside Kubernetes") {
		t.Errorf("got %v", err)
	}
	inside["SIDECAR_NAMESPACE"] = "shop"
	for _, name := range []string{
		"SIDECAR_SERVICE_HOST", "SIDECAR_SERVICE_PORT", "SIDECAR_SERVICE_PORT_HTTP", "SIDECAR_PORT", "SIDECAR_PORT_8700_TCP",
		"SIDECAR_PORT_8700_TCP_ADDR", "SIDECAR_ADMIN_SERVICE_HOST", "SIDECAR_ADMIN_PORT_8701_TCP_PROTO",
	} {
		inside[name] = "tcp://10.0.0.2:8700"
	}
	if _, err := LoadSettings(inside); err != nil {
		t.Errorf("the variables of a Service named sidecar are refused: %v", err)
	}
	if _, err := LoadSettings(Environment{"SIDECAR_SERVICE_HOST": "x", "DATABASE_URL": "postgres://db/x"}); err == nil {
		t.Error("outside of Kubernetes nobody makes such variables, so it is a mistake")
	}
}

func TestOneAddressForTwoListeners(t *testing.T) {
	_, err := LoadSettings(Environment{"SIDECAR_LISTEN": "127.0.0.1:9", "SIDECAR_ADMIN_LISTEN": "127.0.0.1:9"})
	if err == nil || !strings.Contains(err.Error(), "SIDECAR_ADMIN_LISTEN: 127.0.0.1:9 is the address of SIDECAR_LISTEN, too") {
		t.Errorf("got %v", err)
	}
}

func TestGuardIsAList(t *testing.T) {
	s, err := LoadSettings(Environment{"SIDECAR_LISTEN": "127.0.0.1:9", "SIDECAR_GUARD": "/webhooks, /hooks ,"})
	if err != nil || strings.Join(s.Guard, "|") != "/webhooks|/hooks" {
		t.Errorf("got %q, %v", s.Guard, err)
	}
}

package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// complete checks the settings against each other and fills in what depends on others.
func (s *Settings) complete(environ Environment) Problems {
	var problems Problems
	wrong := func(name, format string, args ...any) {
		problems = append(problems, Problem{Key: name, Text: fmt.Sprintf(format, args...)})
	}
	s.checkListeners(wrong)
	s.checkUpstream(wrong)
	s.checkNamespace(environ, wrong)
	s.checkGuard(wrong)
	s.checkChoices(wrong)
	s.checkTimes(wrong)
	s.checkRedis(wrong)
	var err error
	if s.Database, err = ParseDatabase(s.DatabaseURL, LoopbackAddress(s.Listen)); err != nil {
		wrong("DATABASE_URL", "%v", err)
	}
	if s.MaxInflight == 0 {
		s.MaxInflight = Size(defaultInflight(memoryLimit()))
	}
	return problems
}

type reporter = func(name, format string, args ...any)

func (s *Settings) checkListeners(wrong reporter) {
	seen := map[string]string{}
	for _, listener := range []struct{ name, address string }{
		{"SIDECAR_LISTEN", s.Listen}, {"SIDECAR_ADMIN_LISTEN", s.AdminListen}, {"SIDECAR_PROBE_LISTEN", s.ProbeListen},
	} {
		_, port, err := net.SplitHostPort(listener.address)
		if number, bad := strconv.Atoi(port); err != nil || bad != nil || number < 0 || number > 65535 {
			wrong(listener.name, "%q is no address such as :8700 or 127.0.0.1:8700", listener.address)
			continue
		}
		if other, taken := seen[listener.address]; taken && port != "0" {
			wrong(listener.name, "%s is the address of %s, too", listener.address, other)
		}
		seen[listener.address] = listener.name
	}
}

func (s *Settings) checkUpstream(wrong reporter) {
	parsed, err := url.Parse(s.Upstream)
	switch {
	case err != nil || parsed.Hostname() == "" || parsed.Scheme != "http":
		wrong("SIDECAR_UPSTREAM", "want the application's address, such as http://127.0.0.1:8080")
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" || strings.Trim(parsed.Path, "/") != "":
		wrong("SIDECAR_UPSTREAM", "want scheme, host and port only: the request target goes to the application as it came")
	}
}

func (s *Settings) checkNamespace(environ Environment, wrong reporter) {
	if insideKubernetes(environ) && environ["SIDECAR_NAMESPACE"] == "" {
		wrong("SIDECAR_NAMESPACE", "must be set inside Kubernetes: applications that share a ledger would answer for each other")
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`).MatchString(s.Namespace) {
		wrong("SIDECAR_NAMESPACE", "want 1 to 40 characters of a-z 0-9 _ -, beginning with a letter or a digit")
	}
}

func (s *Settings) checkGuard(wrong reporter) {
	var kept []string
	for _, prefix := range s.Guard {
		prefix = strings.TrimSpace(prefix)
		if prefix == "" {
			continue
		}
		if !strings.HasPrefix(prefix, "/") || strings.ContainsAny(prefix, "?#") {
			wrong("SIDECAR_GUARD", "%q is no path prefix such as /webhooks", prefix)
		}
		kept = append(kept, prefix)
	}
	s.Guard = kept
}

func (s *Settings) checkChoices(wrong reporter) {
	choice := func(name, value string, allowed ...string) {
		for _, one := range allowed {
			if value == one {
				return
			}
		}
		wrong(name, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
	choice("SIDECAR_MIGRATE", s.Migrate, "auto", "off")
	choice("SIDECAR_PASSTHROUGH", s.Passthrough, "on", "off")
	choice("SIDECAR_LOG_FORMAT", s.LogFormat, "json", "text")
	choice("SIDECAR_LOG_LEVEL", s.LogLevel, "debug", "info", "warn", "error")
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}
	s.Level = levels[s.LogLevel]
}

func (s *Settings) checkTimes(wrong reporter) {
	if interval := time.Duration(s.ReloadInterval); interval < 100*time.Millisecond || interval > time.Hour {
		wrong("SIDECAR_RELOAD_INTERVAL", "want 100ms to 1h")
	}
	if s.ShutdownTimeout == 0 {
		wrong("SIDECAR_SHUTDOWN_TIMEOUT", "must be longer than 0")
	}
	if age := s.CredentialMaxAge; age != 0 && age < 2*s.ReloadInterval {
		wrong("SIDECAR_CREDENTIAL_MAX_AGE", "must be 0 or at least twice SIDECAR_RELOAD_INTERVAL")
	}
}

func (s *Settings) checkRedis(wrong reporter) {
	if s.RedisURL == "" {
		return
	}
	for one := range strings.SplitSeq(s.RedisURL, ",") {
		scheme, _, found := strings.Cut(strings.TrimSpace(one), "://")
		if !found || (scheme != "redis" && scheme != "rediss" && scheme != "redis+sentinel") {
			wrong("REDIS_URL", "want redis://, rediss:// or redis+sentinel://")
			return
		}
	}
}

// LoopbackAddress tells whether only this machine reaches a listener at address.
func LoopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

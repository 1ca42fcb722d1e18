package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// row prints one effective value.
func (p *program) row(indent int, name, format string, args ...any) {
	fmt.Fprintf(p.out, "%s%-*s %s\n", strings.Repeat(" ", indent), 28-indent, name, fmt.Sprintf(format, args...))
}

// printSettings prints the process settings in force, without passwords.
func (p *program) printSettings(s config.Settings) {
	fmt.Fprintln(p.out, "Settings")
	p.row(2, "SIDECAR_LISTEN", "%s", s.Listen)
	p.row(2, "SIDECAR_ADMIN_LISTEN", "%s", s.AdminListen)
	p.row(2, "SIDECAR_PROBE_LISTEN", "%s", s.ProbeListen)
	p.row(2, "SIDECAR_UPSTREAM", "%s", s.Upstream)
	p.row(2, "SIDECAR_NAMESPACE", "%s", s.Namespace)
	p.row(2, "SIDECAR_CONFIG", "%s", s.Config)
	p.row(2, "SIDECAR_RELOAD_INTERVAL", "%s", config.FormatDuration(time.Duration(s.ReloadInterval)))
	p.row(2, "SIDECAR_GUARD", "%s", orNone(strings.Join(s.Guard, ",")))
	p.row(2, "SIDECAR_PASSTHROUGH", "%s", s.Passthrough)
	p.row(2, "DATABASE_URL", "%s", s.Database)
	p.row(2, "REDIS_URL", "%s", set(s.RedisURL))
	p.row(2, "SIDECAR_MIGRATE", "%s", s.Migrate)
	p.row(2, "SIDECAR_MAX_INFLIGHT_BYTES", "%s", config.FormatSize(int64(s.MaxInflight)))
	p.row(2, "SIDECAR_DRAIN_DELAY", "%s", config.FormatDuration(time.Duration(s.DrainDelay)))
	p.row(2, "SIDECAR_SHUTDOWN_TIMEOUT", "%s", config.FormatDuration(s.Timeout()))
	p.row(2, "SIDECAR_CREDENTIAL_MAX_AGE", "%s", config.FormatDuration(time.Duration(s.CredentialMaxAge)))
	p.row(2, "SIDECAR_LOG_LEVEL", "%s", s.LogLevel)
	p.row(2, "SIDECAR_LOG_FORMAT", "%s", s.LogFormat)
	p.row(2, "SIDECAR_SEAL_KEY_FILE", "%s", orNone(s.SealKeyFile))
	p.row(2, "SIDECAR_ADMIN_TOKEN_FILE", "%s", orNone(s.AdminTokenFile))
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// set tells that something is configured without telling what.
func set(text string) string {
	if text == "" {
		return "-"
	}
	return "set"
}

// printIntegration prints one integration as it is in force.
func (p *program) printIntegration(set *config.Set, i *config.Integration) {
	fmt.Fprintf(p.out, "\nIntegration %s\n", i.Scope)
	p.row(2, "route", "%s %s", strings.Join(i.Methods, ","), i.Route)
	p.row(2, "provider", "%s", i.Provider)
	p.row(2, "mode", "%s", either(i.Accept, "accept", "forward"))
	p.row(2, "enabled", "%t, paused: %t", i.Enabled, i.Paused)
	p.printCredentials(set.Verifier(i.Scope))
	p.printVerification(i)
	p.row(2, "max_body", "%s", config.FormatSize(i.MaxBody))
	p.row(2, "timeout", "%s, lease: %s, duplicate_wait: %s", config.FormatDuration(i.Timeout),
		config.FormatDuration(i.Lease), config.FormatDuration(i.DuplicateWait))
	p.row(2, "in_flight_status", "%d", i.InFlightStatus)
	p.row(2, "record", "statuses: [%s], headers: [%s], max_body: %s", strings.Join(i.Record.Statuses.Written, ", "),
		strings.Join(i.Record.Headers, ", "), config.FormatSize(i.Record.MaxBody))
	p.row(2, "conflict", "%s", either(i.ReplayConflict, "replay", "reject"))
	p.row(2, "in_doubt", "%s", either(i.Quarantine, "quarantine", "retry"))
	if !i.Accept {
		p.printLimit(i)
	}
	p.printQueueing(i)
	p.row(2, "retention", "receipts %s after completion (%s + %s + %s), dead letters %s",
		config.FormatDuration(i.Retention.Receipt()), config.FormatDuration(i.Retention.SenderWindow),
		config.FormatDuration(i.Retention.RepairWindow), config.FormatDuration(i.Retention.ClockSkew),
		config.FormatDuration(i.Retention.DeadLetter))
	p.row(2, "idempotency", "%s: %s", i.KeyHeader, either(i.KeyScoped, string(i.Scope)+"/<event id>", "<event id>"))
	if i.Owner != "" {
		p.row(2, "owner", "%s", i.Owner)
	}
}

func (p *program) printCredentials(verifier *verify.Verifier) {
	for _, c := range verifier.Credentials() {
		validity := ""
		if !c.NotBefore.IsZero() {
			validity += ", from " + c.NotBefore.UTC().Format(time.RFC3339)
		}
		if !c.NotAfter.IsZero() {
			validity += ", until " + c.NotAfter.UTC().Format(time.RFC3339)
		}
		p.row(2, "credential", "%s: %s, secret fingerprint %s%s", c.ID, c.Status, orNone(c.Fingerprint), validity)
	}
}

func (p *program) printVerification(i *config.Integration) {
	if i.PublicURL != "" {
		p.row(2, "public_url", "%s", i.PublicURL)
	}
	for _, pointer := range slices.Sorted(maps.Keys(i.Require)) {
		p.row(2, "require", "%s is one of %s", pointer, strings.Join(i.Require[pointer], ", "))
	}
	preset, _ := verify.LookupPreset(i.Provider)
	p.row(2, "unsigned_id", "%s", or(string(i.UnsignedID), string(preset.UnsignedID)))
	p.row(2, "handshake", "%s", or(string(i.Handshake), string(preset.Handshake)))
	shown := i.Fingerprint
	if !shown.Body && len(shown.Include)+len(shown.Exclude) == 0 {
		shown = preset.Fingerprint
	}
	p.row(2, "fingerprint", "%s", fingerprintText(shown))
}

func fingerprintText(f verify.Fingerprint) string {
	switch {
	case len(f.Include) > 0:
		return "only " + strings.Join(f.Include, ", ")
	case len(f.Exclude) > 0:
		return "the body without " + strings.Join(f.Exclude, ", ")
	}
	return "the body"
}

func (p *program) printLimit(i *config.Integration) {
	var parts []string
	if i.ForwardLimit.MaxAttempts > 0 {
		parts = append(parts, fmt.Sprintf("%d attempts", i.ForwardLimit.MaxAttempts))
	}
	if i.ForwardLimit.MaxAge > 0 {
		parts = append(parts, config.FormatDuration(i.ForwardLimit.MaxAge))
	}
	p.row(2, "forward_limit", "%s", or(strings.Join(parts, ", "), "none: the sender owns retries"))
}

// printQueueing prints what becomes of stored events. A forward-only integration has some, too: replayed dead letters.
func (p *program) printQueueing(i *config.Integration) {
	if !i.Accept {
		p.row(2, "on_failure", "%s", either(i.Queue, "queue", "respond"))
	}
	p.row(2, "retry", "%d attempts within %s, waiting up to %s, later up to %s", i.Retry.MaxAttempts,
		config.FormatDuration(i.Retry.MaxAge), config.FormatDuration(i.Backoff.Initial), config.FormatDuration(i.Backoff.Max))
	if i.Accept {
		p.row(2, "rejected", "[%s] are dead at once", strings.Join(i.Record.Rejected.Written, ", "))
	}
	p.row(2, "concurrency", "%s", either(i.Concurrency > 0, fmt.Sprintf("%d attempts at once in each replica", i.Concurrency), "no limit"))
	if i.Accept || i.Queue {
		p.row(2, "accept", "%d, %q (%s)", i.Acknowledge.Status, i.Acknowledge.Body, i.Acknowledge.ContentType)
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func either(which bool, yes, no string) string {
	if which {
		return yes
	}
	return no
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// errNotRunning tells that no sidecar could be asked at the admin listener.
var errNotRunning = errors.New("no sidecar answers there")

// running asks the sidecar beside this command what is in force. Its answer is a hint: the command does without.
func (p *program) running(ctx context.Context, settings config.Settings) (*statusReport, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachableAt(settings.AdminListen)+"/api/v1/status", http.NoBody)
	if err != nil {
		return nil, err
	}
	if bearer := adminBearer(settings.AdminTokenFile); bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, errNotRunning
	}
	defer func() { _ = answer.Body.Close() }()
	var report statusReport
	err = json.NewDecoder(io.LimitReader(answer.Body, 16<<20)).Decode(&report)
	if err != nil || answer.StatusCode != http.StatusOK || report.Namespace != settings.Namespace || report.Config.File != settings.Config {
		return nil, errNotRunning // or it is another one's
	}
	return &report, nil
}

// reachableAt is a listener's address as one dials it from the same machine.
func reachableAt(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}

// broughtBack complains about credentials that the running sidecar knows as revoked.
func (r *statusReport) broughtBack(set *config.Set) error {
	_, err := set.BroughtBack(func(name config.Revocation) bool {
		return slices.Contains(r.Revoked, string(name.Scope)+" "+name.ID)
	})
	return err
}

// states are the credentials in force, as far as the status tells.
func (r *statusReport) states(now time.Time) credentialStates {
	states := credentialStates{}
	for _, i := range r.Integrations {
		for _, c := range i.Credentials {
			info := verify.CredentialInfo{ID: c.ID, Status: verify.Status(c.Status), Fingerprint: c.Fingerprint}
			if c.NotBefore != nil {
				info.NotBefore = *c.NotBefore
			}
			if c.NotAfter != nil {
				info.NotAfter = *c.NotAfter
			}
			name := config.Revocation{Scope: delivery.Scope(i.Scope), ID: c.ID}
			states[name] = credentialState{statusAt(info, now), info.Fingerprint}
		}
	}
	return states
}

// printChanges tells what a set changes against the running one.
func (p *program) printChanges(running *statusReport, set *config.Set) {
	fmt.Fprintf(p.out, "\nChanges against the running sidecar %s\n", running.Replica)
	lines := running.scopeChanges(set)
	now := time.Now()
	for _, e := range statesOf(set, now).since(running.states(now)) {
		lines = append(lines, fmt.Sprintf("%s: credential %s: %s, %s, secret fingerprint %s", e.Scope, e.ID, e.Change, e.Status, orNone(e.Fingerprint)))
	}
	if len(lines) == 0 {
		lines = []string{"none in its integrations and credentials"}
	}
	for _, line := range lines {
		fmt.Fprintf(p.out, "  %s\n", line)
	}
}

// scopeChanges are the integrations that come, go or change what the status tells of them.
func (r *statusReport) scopeChanges(set *config.Set) []string {
	before := map[string]integrationStatus{}
	for _, i := range r.Integrations {
		before[i.Scope] = i
	}
	var lines []string
	for _, i := range set.Integrations {
		is := newIntegrationStatus(set, i)
		was, known := before[is.Scope]
		delete(before, is.Scope)
		switch {
		case !known:
			lines = append(lines, is.Scope+": new, on "+is.Route)
		case was.Route != is.Route || was.Provider != is.Provider || was.Enabled != is.Enabled || was.Mode != is.Mode:
			lines = append(lines, fmt.Sprintf("%s: %s becomes %s", is.Scope, was.outline(), is.outline()))
		}
	}
	for scope := range before {
		lines = append(lines, scope+": gone; its path stays closed until the sidecar restarts")
	}
	slices.Sort(lines)
	return lines
}

func (i integrationStatus) outline() string {
	return strings.Join([]string{i.Route, i.Provider, i.Mode, either(i.Enabled, "enabled", "disabled")}, " ")
}

package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestCheckTellsWhatChangesAgainstTheRunningSidecar(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_RELOAD_INTERVAL"] = "1h"
	r.write("tokens", "dashboard:read:0123456789abcdef\n")
	r.env["SIDECAR_ADMIN_TOKEN_FILE"] = r.path("tokens")
	p := r.run()
	if out := p.checked(); !strings.Contains(out, "none in its integrations and credentials") {
		t.Errorf("nothing has changed:\n%s", out)
	}
	r.write("first", "another-key-0123456789abcdef01234567\n")
	r.configure(strings.Replace(orders("{id: k1, secret: {file: first}}, {id: k2, secret: {file: second}, status: retiring}"),
		"/hooks/orders", "/hooks/other", 1))
	out := p.checked()
	for _, want := range []string{
		"Changes against the running sidecar", "acme/orders: /hooks/orders hmac forward enabled becomes /hooks/other hmac forward enabled",
		"credential k1: rotated, active, secret fingerprint ", "credential k2: created, retiring, secret fingerprint ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing says %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "another-key") {
		t.Error("a secret is shown")
	}
	p.stop()
	if out := r.must("check"); strings.Contains(out, "Changes against") {
		t.Errorf("nothing runs:\n%s", out)
	}
}

// checked is what a check says that the sidecar has answered, which it asks for a second only.
func (p *process) checked() (out string) {
	p.r.t.Helper()
	p.eventually("an answer to a check", func() error {
		if out = p.r.must("check"); !strings.Contains(out, "Changes against") {
			return errors.New(out)
		}
		return nil
	})
	return out
}

func TestATokenThatIsTakenOutCountsNoLonger(t *testing.T) {
	r := newRig(t)
	r.write("tokens", "a:read:0123456789abcdef\nb:operate:fedcba9876543210\n")
	r.env["SIDECAR_ADMIN_TOKEN_FILE"] = r.path("tokens")
	p := r.run()
	ask := func(method, token string) int {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.env["SIDECAR_ADMIN_LISTEN"]+"/api/v1/credentials", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		return do(request).status
	}
	if a, b := ask(http.MethodGet, "0123456789abcdef"), ask(http.MethodGet, "fedcba9876543210"); a != 200 || b != 200 {
		t.Errorf("both read: %d, %d", a, b)
	}
	if a, b := ask(http.MethodPost, "0123456789abcdef"), ask(http.MethodPost, "fedcba9876543210"); a != 403 || b != 405 {
		t.Errorf("writing to what is only read: %d, %d", a, b)
	}
	r.write("tokens", "b:operate:fedcba9876543210\n")
	if a, b := ask(http.MethodGet, "0123456789abcdef"), ask(http.MethodGet, "fedcba9876543210"); a != 401 || b != 200 {
		t.Errorf("a is taken out: %d, %d", a, b)
	}
	r.write("tokens", "a:root:0123456789abcdef\n")
	if status, out := r.command("", "check"); status != exitUsage || !strings.Contains(out, "SIDECAR_ADMIN_TOKEN_FILE") ||
		strings.Contains(out, "0123456789abcdef") {
		t.Errorf("exit %d: %s", status, out)
	}
}

package main

import (
	"strings"
	"testing"
)

func TestCheckPrintsWhatIsEffective(t *testing.T) {
	r := newRig(t)
	r.env["DATABASE_URL"] = "postgres://user:hidden-password@db.example:5432/x"
	r.env["REDIS_URL"] = "redis://:hidden-password@cache.example:6379"
	out := r.must("check")
	for _, want := range []string{
		"PostgreSQL at db.example:5432/x", "Integration acme/orders", "POST /hooks/orders", "k1: active, secret fingerprint ",
		"SIDECAR_GUARD: is not set", "the configuration is valid: 1 integration",
	} {
		if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
			t.Errorf("nothing says %q in\n%s", want, out)
		}
	}
	for _, secret := range []string{"hidden-password", firstKey} {
		if strings.Contains(out, secret) {
			t.Errorf("check tells a secret:\n%s", out)
		}
	}
}

func TestCheckReportsSettingsAndFileAtOnce(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_LOG_LEVEL"] = "loud"
	r.env["SIDECAR_GARD"] = "/hooks"
	r.configure(orders("{id: k1, secret: {file: nowhere}}", "no_such: 1"))
	status, out := r.command("", "check")
	if status != 2 {
		t.Errorf("exit %d", status)
	}
	for _, want := range []string{"SIDECAR_LOG_LEVEL", "did you mean SIDECAR_GUARD?", "sidecar.yaml:10: ", "nowhere", "sidecar.yaml:11: integrations[0].no_such"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing says %q in\n%s", want, out)
		}
	}
}

func TestRunRefusesWhatCheckRefuses(t *testing.T) {
	r := newRig(t)
	r.write("first", " \n")
	if status, out := r.command("", "check"); status != 2 || !strings.Contains(out, "only white space") {
		t.Errorf("check: exit %d: %s", status, out)
	}
	p := r.start(nil)
	if status := p.end(); status != 2 || !strings.Contains(p.log.String(), "only white space") {
		t.Errorf("run: exit %d: %s", status, p.log)
	}
}

func TestARedisURLThatIsNoneIsAMistake(t *testing.T) {
	r := newRig(t)
	r.env["REDIS_URL"] = "redis://user:hidden-password@cache:notaport"
	status, out := r.command("", "check")
	if status != 2 || !strings.Contains(out, "REDIS_URL") || strings.Contains(out, "hidden-password") {
		t.Errorf("exit %d: %s", status, out)
	}
}

func TestADatabaseURLThatIsNoneIsAMistake(t *testing.T) {
	r := newRig(t)
	r.env["DATABASE_URL"] = "postgres://user:hidden-password@db:notaport/x"
	status, out := r.command("", "check")
	if status != 2 || !strings.Contains(out, "DATABASE_URL") || strings.Contains(out, "hidden-password") {
		t.Errorf("exit %d: %s", status, out)
	}
}

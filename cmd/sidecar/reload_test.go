package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// awaitDelivery delivers events until one is answered as wanted.
func (p *process) awaitDelivery(key, want string) {
	p.r.t.Helper()
	tries := 0
	p.eventually("a delivery to get "+want, func() error {
		tries++
		if got := p.deliver(fmt.Sprintf("evt-%s-%d", strings.ReplaceAll(want, " ", "-"), tries), key); got != want {
			return fmt.Errorf("it gets %s", got)
		}
		return nil
	})
}

// awaitConfig waits until the status says whether the file is valid.
func (p *process) awaitConfig(valid bool) configStatus {
	p.r.t.Helper()
	var report statusReport
	p.eventually("the status to tell of the file", func() error {
		_, body := p.admin("/api/v1/status")
		report = statusReport{}
		if err := json.Unmarshal([]byte(body), &report); err != nil {
			return err
		}
		if report.Config.Valid != valid {
			return fmt.Errorf("valid: %t", report.Config.Valid)
		}
		return nil
	})
	return report.Config
}

func TestRotationAndRevocationWithoutARestart(t *testing.T) {
	r := newRig(t)
	p := r.run()
	if got := p.deliver("evt-1", secondKey); got != "401" {
		t.Fatalf("the key to come: %s", got)
	}
	r.configure(orders("{id: k1, secret: {file: first}, status: retiring}, {id: k2, secret: {file: second}}"))
	p.awaitDelivery(secondKey, "200 applied")
	if got := p.deliver("evt-old", firstKey); got != "200 applied" {
		t.Errorf("the retiring key: %s", got)
	}
	r.configure(orders("{id: k1, secret: {file: first}, status: revoked}, {id: k2, secret: {file: second}}"))
	p.awaitDelivery(firstKey, "401")
	if got := p.deliver("evt-old", secondKey); got != "200 replayed" {
		t.Errorf("a duplicate under the new key: %s", got)
	}
}

func TestANewSecretInTheSameFileCounts(t *testing.T) {
	r := newRig(t)
	p := r.run()
	r.write("first", secondKey+"\n")
	p.awaitDelivery(secondKey, "200 applied")
	if got := p.deliver("evt-1", firstKey); got != "401" {
		t.Errorf("the old secret: %s", got)
	}
}

func TestAnInvalidFileKeepsTheOldSet(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no YAML": "integrations: [", "unknown key": orders("{id: k1, secret: {file: first}}", "no_such: 1"),
		"no integrations": "integrations: []", "missing secret": orders("{id: k1, secret: {file: nowhere}}"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.run()
			r.configure(text)
			got := p.awaitConfig(false)
			if got.InvalidSince == nil || len(got.Problems) == 0 || !strings.Contains(got.Problems[0], "sidecar.yaml") {
				t.Errorf("the status does not say what is wrong: %+v", got)
			}
			if answer := p.deliver("evt-1", firstKey); answer != "200 applied" {
				t.Errorf("the old set is not in force: %s", answer)
			}
			if _, metrics := p.admin("/metrics"); strings.Contains(metrics, "webhook_config_invalid_seconds 0\n") {
				t.Error("the metric says that all is well")
			}
			r.configure(orders("{id: k1, secret: {file: first}}"))
			if got := p.awaitConfig(true); got.InvalidSince != nil || len(got.Problems) != 0 {
				t.Errorf("the alarm stays: %+v", got)
			}
			if count := strings.Count(p.log.String(), "the new configuration is invalid"); count != 1 {
				t.Errorf("one content, %d alarms", count)
			}
		})
	}
}

func TestAReadableRevocationCountsInAnInvalidFile(t *testing.T) {
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}}, {id: k2, secret: {file: second}}"))
	p := r.run()
	r.configure(orders("{id: k1, secret: {file: nowhere}, status: revoked}, {id: k2, secret: {file: nowhere}}", "no_such: 1") +
		"surprise: true\n")
	p.awaitDelivery(firstKey, "401")
	if got := p.deliver("evt-2", secondKey); got != "200 applied" {
		t.Errorf("the rest of the old set is not in force: %s", got)
	}
	if got := p.awaitConfig(false); got.Dropped != 1 {
		t.Errorf("the status does not tell of it: %+v", got)
	}
	r.configure("integrations: [")
	p.eventually("the next alarm", func() error {
		if strings.Count(p.log.String(), "the new configuration is invalid") < 2 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	if got := p.deliver("evt-3", firstKey); got != "401" {
		t.Errorf("the next invalid file brought the revoked key back: %s", got)
	}
}

func TestKubernetesSwapsAWholeVolume(t *testing.T) {
	r := newRig(t)
	swaps := 0
	swap := func(text string, secrets map[string]string) {
		t.Helper()
		swaps++
		fresh := fmt.Sprintf("..revision-%d", swaps)
		if err := os.Mkdir(r.path(fresh), 0o700); err != nil {
			t.Fatal(err)
		}
		secrets["mounted.yaml"] = text
		for name, content := range secrets {
			if err := os.WriteFile(filepath.Join(r.path(fresh), name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		old, _ := os.Readlink(r.path("..data"))
		if err := os.Symlink(fresh, r.path("..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(r.path("..data_tmp"), r.path("..data")); err != nil {
			t.Fatal(err)
		}
		for name := range secrets {
			if _, err := os.Lstat(r.path(name)); err != nil {
				if err := os.Symlink(filepath.Join("..data", name), r.path(name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if old != "" {
			if err := os.RemoveAll(r.path(old)); err != nil {
				t.Fatal(err)
			}
		}
	}
	swap(orders("{id: k1, secret: {file: key-a}}"), map[string]string{"key-a": firstKey})
	r.env["SIDECAR_CONFIG"] = r.path("mounted.yaml")
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Fatalf("before the swap: %s", got)
	}
	swap(orders("{id: k2, secret: {file: key-b}}"), map[string]string{"key-b": secondKey})
	p.awaitDelivery(secondKey, "200 applied")
	if got := p.deliver("evt-2", firstKey); got != "401" {
		t.Errorf("the key of the volume before: %s", got)
	}
}

func TestARouteThatGoesStaysClosed(t *testing.T) {
	r := newRig(t)
	p := r.run()
	r.configure(strings.Replace(orders("{id: k1, secret: {file: first}}"), "/hooks/orders", "/hooks/moved", 1))
	p.awaitDelivery(firstKey, "404")
	before := r.runs()
	if got := p.deliver("evt-after", firstKey); got != "404" || r.runs() != before {
		t.Errorf("got %s, and the application has run %s", got, r.runs())
	}
}

func TestSIGHUPReloadsAtOnce(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_RELOAD_INTERVAL"] = "1h"
	p := r.run()
	r.configure(orders("{id: k2, secret: {file: second}}"))
	p.signal(syscall.SIGHUP)
	p.awaitDelivery(secondKey, "200 applied")
}

func TestCredentialsGrowTooOld(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_CREDENTIAL_MAX_AGE"] = "2s"
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Fatalf("fresh: %s", got)
	}
	for what, stale := range map[string]func() error{
		"gone": func() error { return os.Remove(r.path("sidecar.yaml")) },
		"invalid": func() error { // it may say something of credentials, and that is not in force
			r.configure(orders("{id: k1, secret: {file: first}}, {id: k2, secret: {file: second}}", "no_such: 1"))
			return nil
		},
	} {
		if err := stale(); err != nil {
			t.Fatal(err)
		}
		t.Log("the file is", what)
		p.awaitDelivery(firstKey, "503")
		r.configure(orders("{id: k1, secret: {file: first}}"))
		p.awaitDelivery(firstKey, "200 applied")
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTheDemoEndsByItselfAndKeepsItsPromises(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "demo")
	cmd.Env = []string{asSidecar + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"200 applied", "200 replayed", "20 deliveries: 1 run", "2 x 401", "422 conflict", "500 retryable", "kill -9", "in_flight",
		"the attempt's owner never reported", "One recorded result per event",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nothing says %q in\n%s", want, out)
		}
	}
	if bytes.Contains(out, []byte("\x1b[")) {
		t.Error("colors where there is no terminal")
	}
	if left, _ := os.ReadDir(strings.TrimPrefix(cmd.Env[2], "TMPDIR=")); len(left) != 0 {
		t.Errorf("the demo leaves %d files behind", len(left))
	}
}

func TestTheDemoStaysUpWhenAsked(t *testing.T) {
	cmd := exec.Command(os.Args[0], "demo", "--serve")
	cmd.Env = []string{asSidecar + "=1", sealKeyVariable + "=" + sealKeyFile(t, "demo"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	page := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = page, page
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	status := regexp.MustCompile(`curl -s (http://127\.0\.0\.1:\d+/api/v1/status)\n`)
	err := await(ctx, func() error {
		if status.FindString(page.String()) == "" {
			return errors.New("it prints no requests to try")
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v:\n%s", err, page)
	}
	if code, body := get(status.FindStringSubmatch(page.String())[1]); code != 200 || !strings.Contains(body, "acme/stripe") ||
		!strings.Contains(body, `"sealing": "`+sealKeyID(t, "demo")+`"`) {
		t.Errorf("the printed request gets %d %s", code, body)
	}
	if strings.Count(page.String(), "curl -i -X POST") != 6 {
		t.Errorf("not one request for every sender:\n%s", page)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v\n%s", err, page)
	}
}

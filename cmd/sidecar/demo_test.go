package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
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

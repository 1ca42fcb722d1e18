package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// What is no file, or one without end, is refused at once: nobody waits for it, and nothing of it is held.
func TestTokenFilesThatAreNoFiles(t *testing.T) {
	r := newRig(t)
	if err := syscall.Mkfifo(r.path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(touch(t, r.path("huge")), 1<<30); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		r.path("fifo"): "no regular file", "/dev/zero": "no regular file", r.path("huge"): "more than 16 MiB",
		r.path("."): "is a directory", r.path("absent"): "no such file",
	} {
		_, err := adminTokens(path)
		if err == nil || !strings.Contains(err.Error(), path+": "+want) || !strings.Contains(err.Error(), "SIDECAR_ADMIN_TOKEN_FILE") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

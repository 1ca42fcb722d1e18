package main

import (
	"strings"
	"testing"
)

// What is no file, or one without end, is refused at once: nobody waits for it, and nothing of it is held.
func TestTokenFilesThatAreNoFiles(t *testing.T) {
	for path, want := range newRig(t).noFiles() {
		_, err := adminTokens(path)
		if err == nil || !strings.Contains(err.Error(), path+": "+want) || !strings.Contains(err.Error(), "SIDECAR_ADMIN_TOKEN_FILE") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

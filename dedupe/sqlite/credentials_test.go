package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
)

func TestCredentials(t *testing.T) {
	dedupetest.RunCredentials(t, openFile(t, filepath.Join(t.TempDir(), "ledger.db")))
}

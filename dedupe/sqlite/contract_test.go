package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
)

func TestStore(t *testing.T)  { dedupetest.RunStore(t, harness) }
func TestVault(t *testing.T)  { dedupetest.RunVault(t, harness) }
func TestAudit(t *testing.T)  { dedupetest.RunAudit(t, harness) }
func TestLedger(t *testing.T) { dedupetest.RunLedger(t, harness) }

func harness(t *testing.T) dedupetest.Harness {
	store := openFile(t, filepath.Join(t.TempDir(), "ledger.db"))
	return dedupetest.Harness{Store: store, Audit: store, Intruder: store.intruder(), Age: store.age}
}

func openFile(t *testing.T, path string) *Store {
	t.Helper()
	store, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// age moves a row's times into the past.
func (s *Store) age(key dedupe.Key, by time.Duration) error {
	for _, statement := range []string{
		`UPDATE receipts SET created = created - ?1, changed = changed - ?1, lease_until = max(0, lease_until - ?1),
			next_attempt = max(0, next_attempt - ?1), expires = max(0, expires - ?1) WHERE scope = ?2 AND event_id = ?3`,
		`UPDATE jobs SET expires = max(0, expires - ?1)
			WHERE receipt = (SELECT id FROM receipts WHERE scope = ?2 AND event_id = ?3)`,
	} {
		if _, err := s.db.Exec(statement, by.Microseconds(), key.Scope, key.EventID); err != nil {
			return err
		}
	}
	return nil
}

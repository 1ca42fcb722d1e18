package postgres

import (
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// harness is a fresh ledger with two handles on it, as two replicas have.
func harness(t *testing.T) dedupetest.Harness { return harnessOn(t, freshDB(t), nil) }

func harnessOn(t *testing.T, dsn string, change func(*Config)) dedupetest.Harness {
	conn := connect(t, dsn)
	return dedupetest.Harness{
		Store: open(t, dsn, change), Other: open(t, dsn, change),
		Age: func(key dedupe.Key, by time.Duration) error { return age(t, conn, key, by) },
	}
}

func TestStoreContract(t *testing.T) { dedupetest.RunStore(t, harness) }

func TestLedgerContract(t *testing.T) { dedupetest.RunLedger(t, harness) }

// Each statement may find itself on another server connection, and nothing it needs may be a session's.
func TestContractThroughPgBouncer(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			dedupetest.RunStore(t, func(t *testing.T) dedupetest.Harness {
				dsn := freshDB(t)
				h := harnessOn(t, testenv.PgBouncer(t, dsn)+"&default_query_exec_mode="+mode, nil)
				conn := connect(t, dsn)
				h.Age = func(key dedupe.Key, by time.Duration) error { return age(t, conn, key, by) }
				return h
			})
		})
	}
}

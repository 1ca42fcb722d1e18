package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// harness is a fresh ledger with two handles on it, as two replicas have.
func harness(t *testing.T) dedupetest.Harness { return harnessOn(t, freshDB(t), nil) }

func harnessOn(t *testing.T, dsn string, change func(*Config)) dedupetest.Harness {
	return harnessOf(t, connect(t, dsn), open(t, dsn, change), open(t, dsn, change))
}

func harnessOf(t *testing.T, conn *pgx.Conn, one, two *Store) dedupetest.Harness {
	return dedupetest.Harness{Store: one, Other: two, Age: func(key dedupe.Key, by time.Duration) error {
		for _, s := range []*Store{one, two} {
			s.expired.passed(by)
			s.forgotten.passed(by)
			s.due.passed()
		}
		return age(t, conn, key, by)
	}}
}

func TestStoreContract(t *testing.T) { dedupetest.RunStore(t, harness) }

func TestLedgerContract(t *testing.T) { dedupetest.RunLedger(t, harness) }

// Each transaction may find itself on another server connection, and nothing it needs may be a session's.
func TestContractThroughPgBouncer(t *testing.T) {
	dedupetest.RunStore(t, func(t *testing.T) dedupetest.Harness { return harnessPooled(t, "exec") })
}

func TestEveryCallInTheSimpleProtocol(t *testing.T) {
	s := harnessPooled(t, "simple_protocol").Store.(*Store)
	everything(t, s, "evt_", 64)
	everything(t, s, "one_", 1)
}

func harnessPooled(t *testing.T, mode string) dedupetest.Harness {
	dsn := freshDB(t)
	pooled := testenv.PgBouncer(t, dsn) + "&default_query_exec_mode=" + mode
	return harnessOf(t, connect(t, dsn), open(t, pooled, nil), open(t, pooled, nil))
}

// A pooler that knows no prepared statements is recognised, and the error says what to do.
func TestPreparedStatementsBehindAPoolerAreExplained(t *testing.T) {
	dsn := testenv.PgBouncer(t, freshDB(t))
	stores := []*Store{open(t, dsn, nil), open(t, dsn, nil)}
	eventually(t, "the pooler mixes statements up", func() bool {
		for _, s := range stores {
			if _, err := s.Attention(t.Context()); err != nil {
				return strings.Contains(err.Error(), "default_query_exec_mode=exec")
			}
		}
		return false
	})
}

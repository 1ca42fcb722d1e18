package postgres

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

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
	return dedupetest.Harness{Store: one, Other: two, Audit: one, Intruder: intruder(t, one, conn), Age: func(key dedupe.Key, by time.Duration) error {
		for _, s := range []*Store{one, two} {
			s.expired.passed(by)
			s.forgotten.passed(by)
			s.due.passed()
		}
		return age(t, conn, key, by)
	}}
}

func TestStoreContract(t *testing.T) { dedupetest.RunStore(t, harness) }

func TestVaultContract(t *testing.T) { dedupetest.RunVault(t, harness) }

func TestAuditContract(t *testing.T) { dedupetest.RunAudit(t, harness) }

func TestLedgerContract(t *testing.T) { dedupetest.RunLedger(t, harness) }

// Each transaction may find itself on another server connection, and nothing it needs may be a session's.
func TestContractThroughPgBouncer(t *testing.T) {
	for _, mode := range []string{"exec", "cache_statement"} {
		t.Run(mode, func(t *testing.T) {
			dedupetest.RunStore(t, func(t *testing.T) dedupetest.Harness { return harnessPooled(t, mode) })
		})
	}
}

func TestAuditThroughPgBouncer(t *testing.T) {
	dedupetest.RunAudit(t, func(t *testing.T) dedupetest.Harness { return harnessPooled(t, "cache_statement") })
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

// A pooler that knows no prepared statements is recognised by what it answers, and no call fails for it: neither the one
// that finds out, nor those beside it.
func TestPreparedStatementsThatAPoolerMixesUp(t *testing.T) {
	dsn := testenv.PgBouncer(t, freshDB(t))
	one, two := open(t, dsn, nil), open(t, dsn, nil)
	eventually(t, "the pooler mixes statements up", func() bool {
		var calls errgroup.Group
		for i := range 8 {
			s := []*Store{one, two}[i%2]
			calls.Go(func() error { return storeAndLook(t.Context(), s, rand.Text()) })
		}
		if err := calls.Wait(); err != nil {
			t.Fatal(err)
		}
		return one.lent.Load() && two.lent.Load()
	})
	everything(t, one, "one_", 3)
	everything(t, two, "two_", 1)
}

func storeAndLook(ctx context.Context, s *Store, id string) error {
	row := claimed(id)
	if _, err := s.Insert(ctx, []dedupe.NewRow{row}); err != nil {
		return err
	}
	if _, err := s.Move(ctx, moves([]dedupe.NewRow{row})); err != nil {
		return err
	}
	_, err := s.Attention(ctx)
	return err
}

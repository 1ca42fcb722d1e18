package rediscache

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/postgres"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// The ledger's contract holds with the cache before it: with local memory alone, and with Redis.
func TestLedgerContract(t *testing.T) {
	server := testenv.NewRedis(t)
	for name, address := range map[string]string{"local": "", "redis": server.URL()} {
		t.Run(name, func(t *testing.T) {
			dedupetest.RunLedger(t, func(t *testing.T) dedupetest.Harness {
				if address == server.URL() {
					person(t, address).FlushAll(context.Background())
				}
				return (&contract{t: t, address: address}).harness(testenv.Postgres(t))
			})
		})
	}
}

// contract is one test's ledger, and the caches before it.
type contract struct {
	t       *testing.T
	address string
	mu      sync.Mutex
	caches  []*replica
}

func (c *contract) harness(database string) dedupetest.Harness {
	return dedupetest.Harness{
		Store: c.open(database), Other: c.open(database), Wrap: c.wrap,
		Age: func(key dedupe.Key, by time.Duration) error {
			c.forward(by)
			return age(c.t, database, key, by)
		},
	}
}

func (c *contract) open(database string) dedupe.Backend {
	c.t.Helper()
	store, err := postgres.Open(c.t.Context(), postgres.Config{URL: database, Namespace: "test"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(store.Close)
	return &desked{Backend: store, contract: c, database: database}
}

func (c *contract) wrap(ledger dedupe.Ledger) dedupe.Ledger {
	r := start(c.t, ledger, c.address)
	if r.Stats().Redis && c.address == "" {
		c.t.Fatal("Redis without an address")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caches = append(c.caches, r)
	return r
}

func (c *contract) forward(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.caches {
		r.clock.forward(by)
	}
}

func (c *contract) anyCache() *replica {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.caches) == 0 {
		return nil
	}
	return c.caches[0]
}

// desked lets the suite's desks, which know of no cache, reopen as the product does: through a cache's desk. Then it lets
// half a minute pass, after which every replica must have followed.
type desked struct {
	dedupe.Backend
	contract *contract
	database string
}

// fresh is a store that has not looked before: one that has need not look again at what this test has aged behind its back.
func (d *desked) fresh(ctx context.Context, look func(*postgres.Store) error) error {
	store, err := postgres.Open(ctx, postgres.Config{URL: d.database, Namespace: "test"})
	if err != nil {
		return err
	}
	defer store.Close()
	return look(store)
}

func (d *desked) Due(ctx context.Context, scopes []delivery.Scope, limit int) (due dedupe.Due, err error) {
	err = d.fresh(ctx, func(store *postgres.Store) (err error) {
		due, err = store.Due(ctx, scopes, limit)
		return err
	})
	return due, err
}

func (d *desked) Expired(ctx context.Context, grace time.Duration, limit int) (rows []dedupe.Row, err error) {
	err = d.fresh(ctx, func(store *postgres.Store) (err error) {
		rows, err = store.Expired(ctx, grace, limit)
		return err
	})
	return rows, err
}

func (d *desked) Forget(ctx context.Context, limit int) (receipts, jobs int, err error) {
	err = d.fresh(ctx, func(store *postgres.Store) (err error) {
		receipts, jobs, err = store.Forget(ctx, limit)
		return err
	})
	return receipts, jobs, err
}

func (d *desked) Move(ctx context.Context, moves []dedupe.Move) ([]bool, error) {
	at := slices.IndexFunc(moves, func(m dedupe.Move) bool { return m.Reason == dedupe.Reopened })
	cache := d.contract.anyCache()
	if at < 0 || cache == nil {
		return d.Backend.Move(ctx, moves)
	}
	var made []bool
	desk := cache.Desk(&mover{move: func() (err error) {
		made, err = d.Backend.Move(ctx, moves)
		return err
	}})
	err := desk.Reopen(ctx, moves[at].Scope, moves[at].EventID, dedupe.Act{})
	d.contract.forward(localLife)
	return made, err
}

// mover is a desk that can only reopen.
type mover struct {
	dedupe.Desk
	move func() error
}

func (m *mover) Reopen(context.Context, delivery.Scope, delivery.EventID, dedupe.Act) error {
	return m.move()
}

// age lets time pass for one row: all its times move into the past.
func age(t testing.TB, database string, key dedupe.Key, by time.Duration) error {
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	for _, set := range []string{
		`receipts r SET created = created - span, changed = changed - span, due = due - span`, `jobs r SET until = until - span`,
	} {
		sql := `UPDATE sidecar_test.` + set + ` FROM (SELECT $1::bigint * interval '1 microsecond') AS of_time (span), sidecar_test.names s
			WHERE s.kind = 1 AND s.id = r.scope_id AND s.a = $2 AND r.event_id = $3`
		micros := strconv.FormatInt(by.Microseconds(), 10)
		if _, err := conn.Exec(t.Context(), sql, micros, []byte(key.Scope), []byte(key.EventID)); err != nil {
			return err
		}
	}
	return nil
}

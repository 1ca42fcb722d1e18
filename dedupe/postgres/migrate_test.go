package postgres

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Many replicas start at once on an empty database: one migrates, all work.
func TestTwentyReplicasStartAtOnce(t *testing.T) {
	dsn := freshDB(t)
	var group sync.WaitGroup
	inserted := make(chan bool, 20)
	for range 20 {
		s := open(t, dsn, func(c *Config) { c.MaxConns = 1 })
		group.Go(func() {
			found, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_1")})
			if err != nil {
				t.Error(err)
				return
			}
			inserted <- found[0].Inserted
		})
	}
	group.Wait()
	close(inserted)
	first := 0
	for one := range inserted {
		if one {
			first++
		}
	}
	if first != 1 {
		t.Fatalf("%d replicas inserted the row", first)
	}
}

func TestWithoutMigrationsAMissingSchemaIsAnError(t *testing.T) {
	dsn := freshDB(t)
	s := open(t, dsn, func(c *Config) { c.NoMigrate = true })
	if err := s.Ping(t.Context()); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "sidecar migrate") {
		t.Fatalf("ping: %v", err)
	}
	if _, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_1")}); !errors.Is(err, ErrSchema) {
		t.Fatalf("insert: %v", err)
	}
	if err := open(t, dsn, nil).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	insert(t, s, claimed("evt_1"))
}

func TestNewerSchema(t *testing.T) {
	dsn := freshDB(t)
	conn := connect(t, dsn)
	if err := open(t, dsn, nil).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	known := len(steps)
	exec(t, conn, "INSERT INTO sidecar_test.migrations VALUES ($1, $2)", known+1, known)
	insert(t, open(t, dsn, nil), claimed("evt_1")) // an additive step
	exec(t, conn, "INSERT INTO sidecar_test.migrations VALUES ($1, $1)", known+2)
	for _, off := range []bool{true, false} {
		s := open(t, dsn, func(c *Config) { c.NoMigrate = off })
		if err := s.Ping(t.Context()); !errors.Is(err, ErrSchema) {
			t.Fatalf("NoMigrate %v: %v", off, err)
		}
	}
}

// A database that was dropped and made anew while the store lives is brought up to date again.
func TestLostSchemaIsMadeAgain(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	exec(t, conn, "DROP SCHEMA sidecar_test CASCADE")
	if _, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_1")}); !errors.Is(err, ErrSchema) {
		t.Fatalf("got %v", err)
	}
	insert(t, s, claimed("evt_1"))
	if got := read(t, s, "evt_1"); got.Scope != testScope || got.EventType != "order.created" {
		t.Fatalf("got %+v", got)
	}
}

// An administrator makes the schema for a role that may not create any.
func TestRoleWithoutCreateUsesTheSchemaThatIsThere(t *testing.T) {
	dsn := freshDB(t)
	conn := connect(t, dsn)
	role := "ledger_" + ask[string](t, conn, "SELECT md5(random()::text || current_database())")
	exec(t, conn, "CREATE ROLE "+role+" LOGIN")
	exec(t, conn, "CREATE SCHEMA sidecar_test AUTHORIZATION "+role)
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.User(role)
	s := open(t, address.String(), nil)
	insert(t, s, claimed("evt_1"))
	s.Close()
	exec(t, conn, "DROP OWNED BY "+role)
	exec(t, conn, "DROP ROLE "+role)
}

func TestNamespacesDoNotSeeEachOther(t *testing.T) {
	dsn := freshDB(t)
	for _, namespace := range []string{"a", "a-b", "a_b", "0", strings.Repeat("n", maxNamespace)} {
		s := open(t, dsn, func(c *Config) { c.Namespace = namespace })
		if found := insert(t, s, claimed("evt_1")); !found[0].Inserted {
			t.Errorf("%s sees another namespace's row", namespace)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, namespace := range []string{"", "A", "a b", `a"; DROP SCHEMA public; --`, "a.b", strings.Repeat("n", maxNamespace+1)} {
		if _, err := Open(t.Context(), Config{URL: "postgres://h/d", Namespace: namespace}); err == nil {
			t.Errorf("namespace %q is accepted", namespace)
		}
	}
	const secret = "s3cr3t-canary"
	for _, bad := range []string{"postgres://u:" + secret + "@h:port/d", "postgres://u:" + secret + "@h/d?sslmode=odd"} {
		_, err := Open(t.Context(), Config{URL: bad, Namespace: "n"})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error tells a secret, or there is none: %v", err != nil)
		}
	}
	if _, err := Open(t.Context(), Config{URL: "postgres://h/d", Namespace: "n", Timeout: -1}); err == nil {
		t.Error("a negative timeout is accepted")
	}
}

// A ledger of the first release is brought up to date in place, and keeps what it has.
func TestOldSchemaIsBroughtUpToDate(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error { return s.migrate(t.Context(), tx, steps[:1]) })
	if err != nil {
		t.Fatal(err)
	}
	off := open(t, dsn, func(c *Config) { c.NoMigrate = true })
	if err := off.Ping(t.Context()); len(steps) > 1 && !errors.Is(err, ErrSchema) {
		t.Fatalf("an old schema without migrations: %v", err)
	}
	insert(t, s, claimed("evt_1"))
	if got := ask[int](t, conn, "SELECT max(version) FROM sidecar_test.migrations"); got != len(steps) {
		t.Fatalf("the schema has version %d of %d", got, len(steps))
	}
	if err := off.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A step that needs a table for itself does not queue up behind whoever holds it, with everybody else behind it: it fails
// soon, and is tried again. Rows of the version before are there afterwards, and what that version goes on to write is, too.
func TestAStepMakesNobodyWait(t *testing.T) {
	dsn := freshDB(t)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	s, conn := open(t, dsn, nil), connect(t, dsn)
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error { return s.migrate(t.Context(), tx, steps[:3]) })
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, `INSERT INTO sidecar_test.names VALUES (1, 7, 'acme/orders', '')`)
	exec(t, conn, `INSERT INTO sidecar_test.evidence (at, scope_id, reason_id, attempt, from_state, to_state, status, event_id, actor, note)
		VALUES (now(), 7, 0, 1, 1, 2, 0, 'evt_1', 'old', '')`)
	err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT FROM sidecar_test.receipts"); err != nil {
			return err
		}
		if err := s.Migrate(t.Context()); err == nil {
			t.Error("the step was made beside somebody's transaction")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows := ask[int64](t, conn, "SELECT count(*) FROM sidecar_test.evidence WHERE sum = '' AND checkpoint = 0 AND until = 'infinity'"); rows != 1 {
		t.Errorf("%d rows of the older version are there", rows)
	}
	if got, err := s.Unsealed(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("rows of the older version are to be sealed: %v, %v", got, err)
	}
}

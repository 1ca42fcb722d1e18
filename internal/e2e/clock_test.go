package e2e_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// The clock of the database is set forward by an hour and by days, and back by seconds, under load: leases end early or late, and
// nothing is lost or recorded twice.
func TestTheClockJumps(t *testing.T) {
	url := testenv.Postgres(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE SCHEMA jumping`)
	run(`CREATE TABLE jumping.clock AS SELECT interval '0' AS ahead`)
	for _, clock := range []string{"now", "clock_timestamp"} {
		run(`CREATE FUNCTION jumping.` + clock + `() RETURNS timestamptz LANGUAGE sql STABLE AS
			'SELECT pg_catalog.` + clock + `() + (SELECT ahead FROM jumping.clock)'`)
	}
	run(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = jumping, pg_catalog, public', current_database()); END $$`)
	c := newChaos(t, *chaosSeed, 800, nil, url)
	var actual, told time.Time
	c.send(16)
	for i, jump := range []string{"1 hour", "-2 seconds", "2 days", "-3 seconds"} {
		c.reach(int64(150 * (i + 1)))
		run(`UPDATE jumping.clock SET ahead = ahead + interval '` + jump + `'`)
		t.Logf("after %d events: %s", c.answered.Load(), jump)
	}
	c.sending.Wait()
	c.drain(t)
	c.check(t)
	err = c.query(t, "SELECT pg_catalog.now(), max(changed) FROM sidecar_default.receipts", func(row pgx.Row) error { return row.Scan(&actual, &told) })
	if err != nil || told.Sub(actual) < 48*time.Hour {
		t.Errorf("the ledger's clock is only %s ahead (%v): the test tests nothing", told.Sub(actual), err)
	}
}

package e2e_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// Within retention a delivery that comes again is answered with the recorded result. Past it the ledger knows nothing of
// the event: the same delivery runs again, as a new event.
func TestAReplayPastRetentionRunsAgain(t *testing.T) {
	app, database := newApplication(t), testenv.Postgres(t)
	yaml := integration(t, "retention: {sender_window: 1s, repair_window: 0s, clock_skew: 0s}")
	env := map[string]string{"DATABASE_URL": database, "SIDECAR_UPSTREAM": "http://" + app.address}
	first := newSidecar(t, yaml, env).start(t)
	expect(t, first, "evt-1", "200 applied evt-1 run 1")
	expect(t, first, "evt-1", "200 replayed evt-1 run 1")
	first.kill() // with what it remembers of finished events
	await(t, "the end of the retention", func() error { return overdue(t, database, "evt-1") })
	second := newSidecar(t, yaml, env).start(t) // it sweeps when it starts
	await(t, "the sweep", func() error {
		if err := hasReceipt(t, database, "evt-1"); err == nil {
			return errors.New("the receipt is still there")
		}
		return nil
	})
	expect(t, second, "evt-1", "200 applied evt-1 run 2")
	expect(t, second, "evt-1", "200 replayed evt-1 run 2")
	wantAttempts(t, app, "evt-1", "1", "1")
}

// overdue has no complaint once the receipt may be forgotten by the database's clock.
func overdue(t *testing.T, database, event string) error {
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		return err
	}
	defer conn.Close(t.Context())
	var over bool
	err = conn.QueryRow(t.Context(), "SELECT due <= now() FROM sidecar_default.receipts WHERE event_id = $1", []byte(event)).Scan(&over)
	if err == nil && !over {
		err = errors.New("it may still come")
	}
	return err
}

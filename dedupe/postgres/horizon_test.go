package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func TestHorizonGoesBackFarEnough(t *testing.T) {
	var h horizon
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	scopes := []delivery.Scope{"a/b"}
	look := func(d time.Duration, oldest map[delivery.Scope]time.Time) reach {
		went := h.next(scopes)
		h.saw(scopes, went, oldest, at(d))
		return went[0]
	}
	if got := look(0, nil); !got.full || !got.since.IsZero() {
		t.Errorf("the first look: %+v", got)
	}
	waits := map[delivery.Scope]time.Time{"a/b": at(-time.Hour)}
	if got := look(time.Second, waits); got.full || got.deep || !got.since.Equal(at(-swiftMargin)) {
		t.Errorf("the second look: %+v", got)
	}
	// What was left is looked for again, however old.
	if got := look(2*time.Second, nil); !got.since.Equal(at(-time.Hour - swiftMargin)) {
		t.Errorf("behind a job that stayed: %+v", got)
	}
	look(2*time.Second+deepLook, nil)
	if got := look(3*time.Second+deepLook, nil); !got.deep || !got.since.Equal(at(2*time.Second+deepLook-commitMargin)) {
		t.Errorf("after a while: %+v", got)
	}
	look(fullLook+time.Second, nil)
	if got := look(fullLook+2*time.Second, nil); !got.full {
		t.Errorf("after an hour: %+v", got)
	}
	look(0, nil) // the clock went back
	if got := look(time.Second, nil); !got.full {
		t.Errorf("after the clock went back: %+v", got)
	}
}

// passed tells a horizon that a test has aged a row.
func (h *horizon) passed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scopes = nil
}

// One long transaction keeps vacuum from removing what is gone. Looking for jobs goes on at the same cost.
func TestLookingForJobsBehindALongTransaction(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	queued := func(id string) dedupe.NewRow {
		row := claimed(id)
		row.State, row.Lease, row.OnExpiry, row.Job = dedupe.Queued, 0, 0, &dedupe.Job{Method: "POST", Target: "/"}
		return row
	}
	look := func(want int) {
		t.Helper()
		due, err := s.Due(t.Context(), []delivery.Scope{testScope}, 100)
		if err != nil || len(due.Rows) != want {
			t.Fatalf("%d are due, want %d (%v)", len(due.Rows), want, err)
		}
	}
	insert(t, s, queued("evt_first"))
	look(1)
	exec(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	exec(t, conn, "SELECT FROM sidecar_test.receipts LIMIT 1")
	other := connect(t, dsn)
	exec(t, other, `INSERT INTO sidecar_test.receipts SELECT now(), now(), now() - interval '1 day', r.scope_id, 1, 0, 1, 3, 0, 2,
		1, 'token', 'print', ('gone_' || i)::bytea, '', '', '', '', '' FROM sidecar_test.receipts r, generate_series(1, 5000) i`)
	exec(t, other, "DELETE FROM sidecar_test.receipts WHERE event_id <> 'evt_first'")
	exec(t, other, "VACUUM sidecar_test.receipts")
	look(1)
	before := readStats(t, s, other)
	for i := range 5 {
		look(1 + i)
		insert(t, s, queued(fmt.Sprint("evt_", i)))
	}
	after := readStats(t, s, other)
	if read := after.indexRead - before.indexRead; read > 500 {
		t.Errorf("five looks read %d entries", read)
	}
}

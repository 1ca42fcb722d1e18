package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// settings are those of a store's only session, outside any transaction of the store's.
func settings(t *testing.T, s *Store) string {
	t.Helper()
	var text string
	err := s.pool.QueryRow(t.Context(), `SELECT current_setting('lock_timeout') || ' ' || current_setting('enable_indexscan')`,
		pgx.QueryExecModeExec).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func isGuarded(t *testing.T, s *Store) bool {
	t.Helper()
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	return guarded(conn.Conn())
}

func TestSessionOfOurOwnKeepsTheGuard(t *testing.T) {
	s := open(t, freshDB(t), func(c *Config) { c.MaxConns = 1 })
	insert(t, s, claimed("evt_1"))
	if _, err := s.Find(t.Context(), "0123456789abcdef"); err != nil { // its transaction has another guard
		t.Fatal(err)
	}
	if got := settings(t, s); got != "500ms off" || !isGuarded(t, s) {
		t.Fatalf("the session has %s", got)
	}
}

// A pooler lends the session to others: nothing of ours may stay in it, in whatever mode we talk.
func TestBorrowedSessionIsLeftAsItWas(t *testing.T) {
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			dsn := testenv.PgBouncer(t, freshDB(t)) + "&default_query_exec_mode=" + mode
			s := open(t, dsn, func(c *Config) { c.MaxConns = 1 })
			everything(t, s, "evt_", 1)
			if got := settings(t, s); got != "0 on" || isGuarded(t, s) {
				t.Fatalf("the session has %s", got)
			}
		})
	}
}

// Requests are dropped with the result also where nothing was ever queued before, and in a batch with others.
func TestMovesOfAllKindsInOneBatch(t *testing.T) {
	for _, warm := range []bool{false, true} {
		s := open(t, freshDB(t), nil)
		plain, queued, lost := claimed("evt_1"), claimed("evt_2"), claimed("evt_3")
		queued.State, queued.Job = dedupe.Queued, &dedupe.Job{Method: "POST", Target: "/"}
		insert(t, s, plain, queued, lost)
		work := dedupe.Move{
			Key: queued.Key, FromState: dedupe.Queued, FromToken: queued.Token, To: dedupe.Claimed, Token: queued.Token,
			Attempt: 1, Lease: time.Minute, OnExpiry: dedupe.Queued,
		}
		if made := move(t, s, work); !made[0] || !read(t, s, "evt_2").HasJob || !s.kept.Load() {
			t.Fatalf("made %v, the request is remembered: %v", made, s.kept.Load())
		}
		s.kept.Store(warm)
		list := moves([]dedupe.NewRow{plain, queued, lost})
		list[2].FromToken, list[2].Token = tokenOf("other"), tokenOf("other")
		if made := move(t, s, list...); !made[0] || !made[1] || made[2] {
			t.Fatalf("made %v", made)
		}
		for i, want := range []dedupe.State{dedupe.Applied, dedupe.Applied, dedupe.Claimed} {
			if row := read(t, s, string(list[i].EventID)); row.State != want || row.HasJob {
				t.Errorf("row %d: %+v", i, row)
			}
		}
		if _, err := s.Job(t.Context(), queued.Key); err != dedupe.ErrNotFound {
			t.Errorf("the request is still there: %v", err)
		}
		if !s.kept.Load() {
			t.Error("a batch with a request is not remembered")
		}
		insert(t, s, claimed("evt_4"))
		move(t, s, applied(claimed("evt_4")))
		if s.kept.Load() {
			t.Error("a batch without requests is not remembered")
		}
	}
}

// Rows that are there, by ID or by binding, are told apart from those that a batch adds.
func TestInsertionOfNewAndOldRows(t *testing.T) {
	s := open(t, freshDB(t), nil)
	rows := batch("evt_", 0, 9)
	old := []dedupe.NewRow{rows[2], rows[5], rows[8]}
	rows[7].Binding = [32]byte{1}
	bound := claimed("another")
	bound.Binding = rows[7].Binding
	insert(t, s, append(old, bound)...)
	found, err := s.Insert(context.WithoutCancel(t.Context()), rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range found {
		if there := i == 2 || i == 5 || i == 7 || i == 8; one.Inserted == there {
			t.Errorf("row %d: inserted %v", i, one.Inserted)
		}
		if !one.Inserted && i != 7 && one.Row.Key != rows[i].Key || i == 7 && one.Row.EventID != "another" {
			t.Errorf("row %d: found %v", i, one.Row.Key)
		}
	}
}

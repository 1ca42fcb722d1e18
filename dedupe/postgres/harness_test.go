package postgres

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

const testScope delivery.Scope = "acme/payments"

// open opens a store over a database; change, if set, changes its configuration.
func open(t testing.TB, dsn string, change func(*Config)) *Store {
	t.Helper()
	config := Config{URL: dsn, Namespace: "test"}
	if change != nil {
		change(&config)
	}
	store, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// connect is a session of somebody else, as with psql.
func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func ask[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var answer T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

func keyOf(id string) dedupe.Key {
	return dedupe.Key{Scope: testScope, EventID: delivery.EventID(id)}
}

func tokenOf(id string) dedupe.Token {
	sum := delivery.HashParts([]byte("token"), []byte(id))
	return dedupe.Token(sum[:16])
}

// claimed is a new row as a delivery's claim inserts it.
func claimed(id string) dedupe.NewRow {
	return dedupe.NewRow{
		Key: keyOf(id), Fingerprint: delivery.HashParts([]byte(id)), CredentialID: "key-2026", EventType: "order.created",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		State: dedupe.Claimed, Token: tokenOf(id), Lease: 30 * time.Second, OnExpiry: dedupe.Retryable,
	}
}

// applied is the move that records a result.
func applied(row dedupe.NewRow) dedupe.Move {
	return dedupe.Move{
		Key: row.Key, FromState: dedupe.Claimed, FromToken: row.Token, Token: row.Token, To: dedupe.Applied, Attempt: 1,
		Status: 200, Expires: 7 * 24 * time.Hour, DropJob: true,
		Response: &delivery.Response{
			Status: 200, Header: map[string][]string{"Content-Type": {"application/json"}}, Body: []byte(`{"ok":true}`),
		},
	}
}

func batch(prefix string, from, n int) []dedupe.NewRow {
	rows := make([]dedupe.NewRow, n)
	for i := range rows {
		rows[i] = claimed(prefix + fmt.Sprintf("%08d", from+i))
	}
	return rows
}

func moves(rows []dedupe.NewRow) []dedupe.Move {
	list := make([]dedupe.Move, len(rows))
	for i := range rows {
		list[i] = applied(rows[i])
	}
	return list
}

func insert(t testing.TB, s *Store, rows ...dedupe.NewRow) []dedupe.Found {
	t.Helper()
	found, err := s.Insert(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func move(t testing.TB, s *Store, moves ...dedupe.Move) []bool {
	t.Helper()
	made, err := s.Move(t.Context(), moves)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func read(t testing.TB, s *Store, id string) dedupe.Row {
	t.Helper()
	rows, err := s.Read(t.Context(), []dedupe.Key{keyOf(id)})
	if err != nil || len(rows) != 1 {
		t.Fatalf("reading %s: %d rows, %v", id, len(rows), err)
	}
	return rows[0]
}

// age moves every time of a receipt and its request into the past, as if so much time had passed. Its evidence is sealed
// against that.
func age(t testing.TB, conn *pgx.Conn, key dedupe.Key, by time.Duration) error {
	t.Helper()
	micros := strconv.FormatInt(by.Microseconds(), 10)
	for _, sql := range []string{
		`UPDATE sidecar_test.receipts r SET created = created - i.i, changed = changed - i.i, due = due - i.i`,
		`UPDATE sidecar_test.jobs r SET until = until - i.i`,
	} {
		sql += ` FROM (SELECT $1::bigint * interval '1 microsecond') AS i(i), sidecar_test.names s
			WHERE s.kind = 1 AND s.id = r.scope_id AND s.a = $2 AND r.event_id = $3`
		if _, err := conn.Exec(t.Context(), sql, micros, []byte(key.Scope), []byte(key.EventID)); err != nil {
			return err
		}
	}
	return nil
}

// eventually polls a condition on the outside world.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

func freshDB(t testing.TB) string { t.Helper(); return testenv.Postgres(t) }

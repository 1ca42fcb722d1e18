package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// sweeperVariable makes the other process a sweeper.
const sweeperVariable = "SIDECAR_TEST_SWEEPER"

// The other process forgets in small batches, and stops before all is gone, however late it is killed.
const (
	sweptAtOnce = 3
	sweeps      = 40
)

// otherSweeper forgets so many batches, prints a line for each, and waits for its end.
func otherSweeper(path string) {
	store, err := Open(context.Background(), path)
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("open\n")
	for range sweeps {
		gone, _, err := store.Forget(context.Background(), sweptAtOnce)
		fmt.Fprintln(os.Stdout, gone, err)
	}
	<-time.After(time.Hour) // until it is killed
}

// A sweeper may be killed anywhere: an event is there as a whole or gone as a whole, and the next sweep finishes.
func TestKilledSweepLeavesNothingHalf(t *testing.T) {
	const rounds = 3
	const events = rounds*sweeps*sweptAtOnce + 40
	path := filepath.Join(t.TempDir(), "ledger.db")
	overdue(t, path, events)
	left := events
	for round := range rounds {
		command, lines := start(t, path, sweeperVariable+"=1")
		for told := 0; told <= 5*(round+1) && lines.Scan(); told++ {
			if want := fmt.Sprint(sweptAtOnce, " <nil>"); told > 0 && lines.Text() != want {
				t.Fatalf("the other process says %q, want %q", lines.Text(), want)
			}
		}
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait() // killed
		left = wholeEvents(t, path, left)
	}
	store := openFile(t, path)
	if gone, _, err := store.Forget(t.Context(), events); err != nil || gone != left || left == 0 {
		t.Fatalf("the next sweep forgot %d of %d: %v", gone, left, err)
	}
	for _, table := range []string{"receipts", "evidence", "jobs"} {
		if n := countOf(t, store, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// wholeEvents expects less than before, each with its evidence and its request, and returns how many.
func wholeEvents(t *testing.T, path string, before int) int {
	t.Helper()
	store, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	left := countOf(t, store, "SELECT count(*) FROM receipts")
	complete := countOf(t, store, `SELECT count(*) FROM receipts r JOIN jobs j ON j.receipt = r.id
		WHERE (SELECT count(*) FROM evidence e WHERE e.receipt = r.id) = 1`)
	alone := countOf(t, store, `SELECT (SELECT count(*) FROM jobs WHERE receipt NOT IN (SELECT id FROM receipts))
		+ (SELECT count(*) FROM evidence WHERE receipt NOT IN (SELECT id FROM receipts))`)
	if left >= before || complete != left || alone != 0 {
		t.Fatalf("of %d events %d are left, %d as a whole, and %d rows belong to none", before, left, complete, alone)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return left
}

func countOf(t *testing.T, store *Store, query string) int {
	t.Helper()
	var n int
	if err := store.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// overdue makes events whose time is over, each with a row of evidence and a request.
func overdue(t *testing.T, path string, events int) {
	t.Helper()
	store, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		row := claimedRow(i)
		if _, err := store.Insert(t.Context(), []dedupe.NewRow{row}); err != nil {
			t.Fatal(err)
		}
		made, err := store.Move(t.Context(), []dedupe.Move{{
			Key: row.Key, FromState: dedupe.Claimed, FromToken: row.Token, To: dedupe.Closed, Token: row.Token, Attempt: 1,
			Expires: time.Microsecond, Job: &dedupe.Job{Method: "POST", Target: "/"},
			Evidence: &dedupe.Evidence{From: dedupe.Claimed, To: dedupe.Closed, Actor: "a"},
		}})
		if err != nil || !made[0] {
			t.Fatalf("%v, %v", made, err)
		}
	}
	if _, err := store.db.ExecContext(t.Context(), "UPDATE receipts SET expires = 1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

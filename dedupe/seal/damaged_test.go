package seal

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// spoiled opens a store after statements were made behind its back, with {event} for the condition on it.
type spoiled func(t *testing.T, fill func(dedupe.Backend), statements map[string]string) dedupe.Backend

func spoiledRemote(t *testing.T, fill func(dedupe.Backend), statements map[string]string) dedupe.Backend {
	url := database(t)
	store := remote(t, url)
	fill(store)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for event, sql := range statements {
		made, err := conn.Exec(t.Context(), sql+" WHERE event_id = convert_to($1, 'UTF8')", event)
		if err != nil || made.RowsAffected() != 1 {
			t.Fatalf("%s: %v, %v", event, made, err)
		}
	}
	return store
}

func spoiledEmbedded(t *testing.T, fill func(dedupe.Backend), statements map[string]string) dedupe.Backend {
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := func() *sqlite.Store {
		store, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	fill(store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for event, sql := range statements {
		made, err := db.ExecContext(t.Context(), sql+" = (SELECT id FROM receipts WHERE event_id = ?)", event)
		if err != nil {
			t.Fatal(err)
		}
		if count, err := made.RowsAffected(); err != nil || count != 1 {
			t.Fatalf("%s: %d rows, %v", event, count, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store = open()
	t.Cleanup(func() { store.Close() })
	return store
}

// What is kept of an event may be damaged in any way: the disk, a person, or a later version that was here. It is refused
// alone, and neither a batch, nor a worker, nor a list, nor a rotation ends at it.
func TestDamagedRowsAreRefusedAlone(t *testing.T) {
	const receipts, jobs = "UPDATE sidecar_test.receipts SET head = ", "UPDATE sidecar_test.jobs SET request = "
	for name, c := range map[string]struct {
		open spoiled
		how  map[string]string // first letter: r result, e result that is erased, q request
	}{
		"remote": {spoiledRemote, map[string]string{
			"r of a later version": receipts + `'\x77'`, "e head and body": receipts + `'', body = ''`, "r longer": receipts + `head || '\x09ff'`,
			"r without its head":   receipts + `'\x0209'`,
			"q of a later version": jobs + `'\x77'`, "q cut off": jobs + `substr(request, 1, 3)`, "q empty": jobs + `''`,
			"q with bad fields": jobs + `'\x0101500000017f'`, "q cleared": jobs + `'\x0100000000'`,
		}},
		"embedded": {spoiledEmbedded, map[string]string{
			"r of a later version": "UPDATE receipts SET response_header = x'77' WHERE id",
			"e head alone":         "UPDATE receipts SET response_header = x'' WHERE id",
			"e head and body":      "UPDATE receipts SET response_header = NULL, response_body = NULL WHERE id",
			"q of a later version": "UPDATE jobs SET header = x'77' WHERE receipt",
			"q empty":              "UPDATE jobs SET header = x'' WHERE receipt",
			"q cleared":            "UPDATE jobs SET method = x'', body = x'' WHERE receipt",
		}},
	} {
		for _, sealing := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", sealed: ", sealing), func(t *testing.T) {
				ring := NewRing(nil)
				if sealing {
					ring = ringOf(t, "a")
				}
				inner := c.open(t, func(store dedupe.Backend) { fillFor(t, sealed(t, store, ring), c.how) }, c.how)
				refusedAlone(t, inner, ring, c.how)
			})
		}
	}
}

// fillFor applies and accepts the events that will be damaged, and one of each that will not.
func fillFor(t *testing.T, store dedupe.Backend, how map[string]string) {
	keeper := keeperOver(t, store)
	apply(t, keeper, "r fine")
	accept(t, keeper, "q fine")
	for event := range how {
		if event[0] != 'q' {
			apply(t, keeper, event)
		} else {
			accept(t, keeper, event)
		}
	}
}

func refusedAlone(t *testing.T, inner dedupe.Backend, ring *Ring, how map[string]string) {
	store := sealed(t, inner, ring)
	keeper := keeperOver(t, store)
	rows := []dedupe.NewRow{newRow("newcomer"), newRow("r fine")}
	results, requests := 0, 0
	for event := range how {
		if event[0] == 'q' {
			requests++
			continue
		}
		began := time.Now()
		if _, err := keeper.Claim(t.Context(), request(event)); !errors.Is(err, dedupe.ErrSealed) || time.Since(began) > 5*time.Second {
			t.Errorf("%s: claimed: %v", event, err)
		}
		if event[0] == 'e' {
			continue
		}
		results++
		rows = append(rows, newRow(event))
		if receipt, err := keeper.Receipt(t.Context(), "acme/orders", delivery.EventID(event)); err != nil || receipt.Sealed == nil || receipt.Status != 200 {
			t.Errorf("%s: the receipt is %+v, %v", event, receipt, err)
		}
	}
	found, err := store.Insert(t.Context(), sorted(rows))
	if err != nil {
		t.Errorf("a batch with damaged rows: %v", err)
	}
	for _, one := range found {
		if fine := one.Inserted || one.Row.EventID == "r fine"; fine != (one.Row.Sealed == nil) {
			t.Errorf("%s is %+v", one.Row.EventID, one)
		}
	}
	replays(t, keeper, "r fine")
	if list, err := keeper.List(t.Context(), dedupe.Filter{}); err != nil || len(list) != 3+len(how) {
		t.Errorf("listed %d, %v", len(list), err)
	}
	checkRotation(t, inner, ring, results, requests)
	taken := take(t, keeper)
	if len(taken.Works) != 1 || taken.Works[0].Claim.EventID != "q fine" {
		t.Errorf("the worker took %+v", taken)
	}
	for event := range how {
		if receipt, err := keeper.Receipt(t.Context(), "acme/orders", delivery.EventID(event)); event[0] == 'q' &&
			(err != nil || receipt.Reason != dedupe.Unsealable || receipt.Attempts != 0) {
			t.Errorf("%s: the receipt is %+v, %v", event, receipt, err)
		}
	}
}

// checkRotation counts what is damaged, and brings the others under another key.
func checkRotation(t *testing.T, inner dedupe.Backend, ring *Ring, results, requests int) {
	names := []string{"b"}
	if ring.Keys() != nil {
		names = append(names, "a")
	}
	ring.Use(keysOf(t, names...))
	report, err := Rotation{Vault: inner, Namespace: "test", Keys: ring.Keys(), Rows: 2}.Run(t.Context())
	if err != nil || report.Left() != results+requests || report.Results.Rewritten != 1 || report.Requests.Rewritten != 1 {
		t.Errorf("rotated %+v, %v", report, err)
	}
}

func sorted(rows []dedupe.NewRow) []dedupe.NewRow {
	slices.SortFunc(rows, func(a, b dedupe.NewRow) int {
		if a.EventID < b.EventID {
			return -1
		}
		return 1
	})
	return rows
}

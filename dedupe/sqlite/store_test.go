package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// childVariable tells the test binary that it is another process, and which file it should open.
const childVariable = "SIDECAR_TEST_LEDGER"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if os.Getenv(sweeperVariable) != "" {
			otherSweeper(path)
		}
		otherProcess(path)
	}
	if err := flag.Set("rapid.checks", plays); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// otherProcess claims events, one after the other, and prints each as soon as its claim is durable. It never ends.
func otherProcess(path string) {
	store, err := Open(context.Background(), path)
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("open\n")
	for i := 0; ; i++ {
		row := claimedRow(i)
		if _, err := store.Insert(context.Background(), []dedupe.NewRow{row}); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString(string(row.EventID) + "\n")
	}
}

func claimedRow(i int) dedupe.NewRow {
	id := delivery.EventID(strings.Repeat("x", 1+i))
	if i > 200 {
		id = delivery.EventID(strings.Repeat("y", 1+i-200))
	}
	return dedupe.NewRow{
		Key: dedupe.Key{Scope: "acme/payments", EventID: id}, State: dedupe.Claimed, Token: dedupe.Token{1},
		Lease: time.Hour, OnExpiry: dedupe.Retryable,
	}
}

// start runs this test binary as another process on a file and returns its lines.
func start(t *testing.T, path string, more ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), append(more, childVariable+"="+path)...)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended by itself
		_ = command.Wait()
	})
	return command, bufio.NewScanner(output)
}

func TestWhatWasToldSurvivesAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for round := range 3 {
		command, lines := start(t, path)
		told := 0
		for lines.Scan() && told <= 20*(round+1) {
			if told == 0 && lines.Text() != "open" {
				t.Fatalf("the other process says %q", lines.Text())
			}
			told++
		}
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			told++
		}
		_ = command.Wait() // killed
		store := openFile(t, path)
		for i := range told - 1 {
			rows, err := store.Read(t.Context(), []dedupe.Key{claimedRow(i).Key})
			if err != nil || len(rows) != 1 || rows[0].State != dedupe.Claimed {
				t.Fatalf("event %d of %d is lost: %+v, %v", i, told, rows, err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASecondProcessIsToldWhoHoldsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	openFile(t, path)
	_, lines := start(t, path)
	if !lines.Scan() || !strings.Contains(lines.Text(), path) || !strings.Contains(lines.Text(), ErrHeld.Error()) {
		t.Errorf("the second process is told %q", lines.Text())
	}
	if _, err := Open(t.Context(), path); !errors.Is(err, ErrHeld) {
		t.Errorf("the same process is told %v", err)
	}
}

func TestTheFileIsFreeAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Insert(t.Context(), []dedupe.NewRow{claimedRow(0)}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err := openFile(t, path).Read(t.Context(), []dedupe.Key{claimedRow(0).Key}); err != nil || len(rows) != 1 {
		t.Errorf("read %+v, %v", rows, err)
	}
	if _, err := os.Stat(path + "-shm"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log's index is shared with other processes: %v", err)
	}
}

func TestEveryPathNamesOneFile(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"plain.db", "a?b.db", "a#b.db", "a%20b.db", "a b.db", "a&b=c.db", "ü.db", "file:x.db", "//x.db"} {
		path := folder + "/" + name
		openFile(t, path)
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
			continue
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %v", name, info.Mode())
		}
	}
	t.Chdir(folder)
	openFile(t, "relative.db")
	if _, err := os.Stat(filepath.Join(folder, "relative.db")); err != nil {
		t.Error(err)
	}
}

func TestMemoryEndsWithItsStore(t *testing.T) {
	for range 2 {
		store := openFile(t, memory)
		found, err := store.Insert(t.Context(), []dedupe.NewRow{claimedRow(0)})
		if err != nil || !found[0].Inserted {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	if _, err := os.Stat(memory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file: %v", err)
	}
}

func TestOpenRefusesWhatIsNoLedger(t *testing.T) {
	folder := t.TempDir()
	garbage := filepath.Join(folder, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(folder, "foreign.db")
	execute(t, foreign, "CREATE TABLE theirs (a)")
	newer := filepath.Join(folder, "newer.db")
	if err := openFile(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, newer, "PRAGMA user_version = 99")
	before := map[string][]byte{garbage: nil, foreign: nil, newer: nil}
	for path := range before {
		before[path], _ = os.ReadFile(path)
	}
	for path, want := range map[string]error{
		garbage: nil, foreign: errForeign, newer: errNewer, folder: nil, filepath.Join(folder, "missing", "x.db"): os.ErrNotExist,
	} {
		store, err := Open(t.Context(), path)
		if err == nil || store != nil || !strings.Contains(err.Error(), path) || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, was := range before {
		if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, was) {
			t.Errorf("%s was changed: %v", path, err)
		}
	}
}

// A ledger that is opened as it is gets no file and no schema: it is of this version, or the error says what is the matter and
// nothing has changed.
func TestOpenAsItIsChangesNothing(t *testing.T) {
	folder := t.TempDir()
	current := filepath.Join(folder, "current.db")
	if err := openFile(t, current).Close(); err != nil {
		t.Fatal(err)
	}
	store, err := OpenAsItIs(t.Context(), current)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Insert(t.Context(), []dedupe.NewRow{claimedRow(0)}); err != nil {
		t.Error(err)
	}
	if _, err := OpenAsItIs(t.Context(), current); !errors.Is(err, ErrHeld) {
		t.Errorf("a ledger that somebody holds: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]error{"0": ErrOutdated, "1": ErrOutdated, "4": ErrOutdated, "99": errNewer} {
		path := filepath.Join(folder, "version"+version+".db")
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		execute(t, path, "PRAGMA user_version = "+version)
		before, _ := os.ReadFile(path)
		if _, err := OpenAsItIs(t.Context(), path); !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("version %s: %v, want %v", version, err, want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("version %s was changed: %v", version, err)
		}
	}
	absent := filepath.Join(folder, "absent.db")
	if _, err := OpenAsItIs(t.Context(), absent); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a ledger that is not there: %v", err)
	}
	if _, err := os.Stat(absent); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsAreInForce(t *testing.T) {
	store := openFile(t, filepath.Join(t.TempDir(), "ledger.db"))
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "locking_mode": "exclusive", "foreign_keys": "1", "integrity_check": "ok",
	} {
		var got string
		if err := store.db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v", pragma, got, err)
		}
	}
}

func TestARefusedValueIsTheRowsFault(t *testing.T) {
	store := openFile(t, memory)
	if _, err := store.db.Exec(`CREATE TRIGGER no BEFORE INSERT ON receipts WHEN NEW.object = x'00' BEGIN SELECT RAISE(ABORT, 'no'); END`); err != nil {
		t.Fatal(err)
	}
	good, bad := claimedRow(0), claimedRow(1)
	bad.Object = "\x00"
	if _, err := store.Insert(t.Context(), []dedupe.NewRow{good, bad}); !errors.Is(err, dedupe.ErrBatch) {
		t.Errorf("the batch: %v", err)
	}
	if _, err := store.Insert(t.Context(), []dedupe.NewRow{bad}); !errors.Is(err, dedupe.ErrRow) {
		t.Errorf("the row: %v", err)
	}
	if found, err := store.Insert(t.Context(), []dedupe.NewRow{good}); err != nil || !found[0].Inserted {
		t.Errorf("half of the batch was applied: %+v, %v", found, err)
	}
}

func TestHotStatementsUseTheirIndexes(t *testing.T) {
	store := openFile(t, memory)
	const key, binding = "receipts_key (scope=? AND event_id=?)", "receipts_binding (scope=? AND binding=?)"
	for statement, index := range map[string]string{
		selectReceipt: key, selectBound: binding, updateReceipt: key,
		`SELECT 1 FROM receipts WHERE state = 1 AND lease_until <= ? ORDER BY lease_until LIMIT 9`:                     "receipts_lease",
		`SELECT 1 FROM receipts WHERE expires > 0 AND expires <= ? AND state NOT IN (1, 3) ORDER BY expires LIMIT 9`:   "receipts_expiry",
		`SELECT 1 FROM receipts WHERE state = 3 AND next_attempt <= ? AND +scope IN (?) ORDER BY next_attempt LIMIT 9`: "receipts_due",
		`SELECT scope, state, count(*), min(CASE state WHEN 5 THEN changed ELSE created END) FROM receipts
			WHERE state IN (2, 3, 5) GROUP BY scope, state ORDER BY 1, 2`: "receipts_open",
	} {
		if plan := explain(t, store, statement); !strings.Contains(plan, index) {
			t.Errorf("%s\nis planned as\n%s", statement, plan)
		}
	}
}

func explain(t *testing.T, store *Store, statement string) string {
	t.Helper()
	arguments := make([]any, strings.Count(statement, "?"))
	rows, err := store.db.Query("EXPLAIN QUERY PLAN "+statement, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	return plan.String()
}

func TestACallThatIsCutOffLeavesTheStoreWhole(t *testing.T) {
	for _, path := range []string{memory, filepath.Join(t.TempDir(), "ledger.db")} {
		store := openFile(t, path)
		first := claimedRow(0)
		if _, err := store.Insert(t.Context(), []dedupe.NewRow{first}); err != nil {
			t.Fatal(err)
		}
		cut := 0
		for round := range 10 {
			rows := make([]dedupe.NewRow, 200)
			for i := range rows {
				rows[i] = claimedRow(0)
				rows[i].EventID = delivery.EventID(fmt.Sprintf("evt_%02d_%03d", round, i))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*time.Millisecond)
			_, err := store.Insert(ctx, rows)
			cancel()
			found, again := store.Insert(t.Context(), rows)
			if again != nil {
				t.Fatalf("after %v: %v", err, again)
			}
			whole(t, found, err)
			if err != nil {
				cut++
			}
		}
		if cut == 0 {
			t.Error("no call was cut off")
		}
		if found, err := store.Insert(t.Context(), []dedupe.NewRow{first}); err != nil || found[0].Inserted {
			t.Errorf("the first row is lost: %+v, %v", found, err)
		}
	}
}

// whole expects that a batch was applied as a whole, or not at all; and if it was told to be, that it is.
func whole(t *testing.T, again []dedupe.Found, err error) {
	t.Helper()
	for i := range again {
		if again[i].Inserted != again[0].Inserted {
			t.Fatalf("row %d of the batch was applied on its own", i)
		}
	}
	if err == nil && again[0].Inserted {
		t.Fatal("a batch that was told to be durable is lost")
	}
}

// Other programs do not watch over foreign keys: a receipt that they delete leaves its evidence behind.
func TestEvidenceWithoutAReceiptIsFound(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, sql := range []string{
		`PRAGMA foreign_keys = OFF`,
		`INSERT INTO evidence (receipt, at, from_state, to_state, attempt, reason, status, actor, note, sum)
			VALUES (7, 1, 1, 2, 1, 'not_final', 503, x'', x'', zeroblob(32))`,
	} {
		if _, err := s.db.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	var found []audit.Kind
	auditor, err := audit.NewAuditor(audit.AuditorConfig{Source: s, Found: func(f audit.Finding) { found = append(found, f.Kind) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := auditor.Verify(t.Context()); err != nil || !slices.Equal(found, []audit.Kind{audit.Stray}) {
		t.Errorf("found %v, %v", found, err)
	}
}

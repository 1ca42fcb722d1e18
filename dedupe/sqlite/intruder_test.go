package sqlite

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

func (s *Store) intruder() *dedupetest.Intruder {
	longer := func(column string) string { return "randomblob(length(" + column + ") + 1)" }
	return &dedupetest.Intruder{
		Exec: func(sql string, args ...any) (int64, error) {
			result, err := s.db.Exec(sql, args...)
			if err != nil {
				return 0, err
			}
			return result.RowsAffected()
		},
		Evidence: "evidence", Receipts: "receipts", Checkpoints: "checkpoints",
		OfEvent: "scope = ? AND event_id = ?", OfScope: "scope = ?",
		EvidenceOf: "receipt = (SELECT id FROM receipts WHERE scope = ? AND event_id = ?)",
		Older: `INSERT INTO evidence (receipt, at, from_state, to_state, attempt, reason, status, actor, note)
			SELECT id, changed, 1, state, attempt, reason, status, x'6f6c64', x'' FROM receipts WHERE scope = ? AND event_id = ?`,
		ColumnsOfEvidence: map[string][]string{
			"receipt": {"(SELECT id FROM receipts WHERE id <> evidence.receipt ORDER BY id DESC LIMIT 1)", "(SELECT id FROM receipts WHERE event_id = 'happy')"},
			"at":      {"at + 1", "at - 1", "0", "-1", "9223372036854775807"}, "until": {"until + 1", "until - 1", "0", "-1", "9223372036854775807"},
			"from_state": {"from_state + 1", "from_state + 256", "from_state - 256", "0"}, "to_state": {"to_state + 1", "to_state + 256", "to_state - 256", "0"},
			"attempt": {"attempt + 1", "attempt - 1", "attempt + 4294967296", "-attempt"}, "reason": {"reason || 'x'", "''"}, "status": {"status + 1", "status + 65536", "-1"}, "actor": {longer("actor"), "x''"},
			"note": {longer("note"), "x''"}, "credential": {longer("credential"), "x''"},
			"checkpoint": {"CASE checkpoint WHEN 0 THEN 1 ELSE 0 END", "1", "2", "3", "4", "-1", "1000000000000"},
			"sum":        {"CASE id % 3 WHEN 0 THEN x'' WHEN 1 THEN randomblob(33) ELSE randomblob(32) END", "x''", "randomblob(33)", "randomblob(32)", "zeroblob(32)"},
		},
		ColumnsOfReceipts: map[string][]string{
			"chain":    {"CASE chain WHEN x'' THEN randomblob(32) ELSE x'' END", "x''", "randomblob(32)", "randomblob(33)", "zeroblob(32)"},
			"state":    {"CASE state WHEN 5 THEN 4 ELSE 5 END", "1", "2", "3", "4", "5", "6", "0", "7", "state + 256"},
			"event_id": {"event_id || 'x'"}, "scope": {"scope || 'x'", "''"},
			"attempt": {"attempt + 1", "attempt - 1", "0"}, "status": {"status + 1", "0", "200"}, "reason": {"reason || 'x'", "''", "'max_age'"},
		},
		ColumnsOfCheckpoints: map[string][]string{
			"number": {"number + 1000", "number - 1000", "0", "-1"}, "at": {"at + 1", "0", "9223372036854775807"}, "oldest": {"oldest + 1", "oldest - 1", "number", "number + 1", "1000000"}, "previous": {longer("previous"), "x''", "randomblob(32)"},
			"sum": {longer("sum"), "x''", "randomblob(32)"}, "leaves": {longer("leaves"), "x''", "randomblob(length(leaves))"}, "scope": {"scope || 'x'", "''"},
		},
	}
}

// A number that is no truth value, where one belongs, keeps nobody from reading the rest.
func TestWhatIsNoTruthValueIsRead(t *testing.T) {
	store, err := Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	key := dedupe.Key{Scope: "acme/orders", EventID: "evt"}
	if _, err := store.Insert(t.Context(), []dedupe.NewRow{{Key: key, State: dedupe.Claimed, Lease: time.Minute}}); err != nil {
		t.Fatal(err)
	}
	answer := &delivery.Response{Status: 200, Header: http.Header{}, Body: []byte("done")}
	applied := dedupe.Move{Key: key, FromState: dedupe.Claimed, To: dedupe.Applied, Attempt: 1, Status: 200, Response: answer, Expires: time.Hour}
	if made, err := store.Move(t.Context(), []dedupe.Move{applied}); err != nil || !made[0] {
		t.Fatalf("%v, %v", made, err)
	}
	if _, err := store.SetPaused(t.Context(), key.Scope, true, dedupe.Act{Actor: "ada", Reason: "repairs"}); err != nil {
		t.Fatal(err)
	}
	for _, value := range []int64{2, -1, math.MaxInt64, math.MinInt64} {
		for _, sql := range []string{"UPDATE receipts SET omitted = ?", "UPDATE pauses SET paused = ?"} {
			if _, err := store.db.Exec(sql, value); err != nil {
				t.Fatal(err)
			}
		}
		for name, read := range map[string]func() (int, error){
			"Read": func() (int, error) { rows, err := store.Read(t.Context(), []dedupe.Key{key}); return len(rows), err },
			"List": func() (int, error) {
				rows, err := store.List(t.Context(), dedupe.Filter{Limit: 10})
				return len(rows), err
			},
			"History": func() (int, error) { rows, err := store.History(t.Context(), key.Scope, "", 10); return len(rows), err },
			"Pauses":  func() (int, error) { acts, err := store.PauseActs(t.Context()); return len(acts), err },
		} {
			if n, err := read(); n != 1 || err != nil {
				t.Errorf("%s with %d: %d rows, %v", name, value, n, err)
			}
		}
	}
}

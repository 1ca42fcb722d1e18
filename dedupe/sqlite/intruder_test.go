package sqlite

import "github.com/webhook-sidecar/webhook-sidecar/dedupe/dedupetest"

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
		ColumnsOfEvidence: map[string]string{
			"receipt": "(SELECT id FROM receipts WHERE id <> evidence.receipt ORDER BY id DESC LIMIT 1)",
			"at":      "at + 1", "until": "until + 1", "from_state": "from_state + 1", "to_state": "to_state + 1",
			"attempt": "attempt + 1", "reason": "reason || 'x'", "status": "status + 1", "actor": longer("actor"),
			"note": longer("note"), "credential": longer("credential"),
			"checkpoint": "CASE checkpoint WHEN 0 THEN 1 ELSE 0 END",
			"sum":        "CASE id % 3 WHEN 0 THEN x'' WHEN 1 THEN randomblob(33) ELSE randomblob(32) END",
		},
		ColumnsOfReceipts: map[string]string{
			"chain": "CASE chain WHEN x'' THEN randomblob(32) ELSE x'' END", "state": "CASE state WHEN 5 THEN 4 ELSE 5 END",
			"event_id": "event_id || 'x'", "scope": "scope || 'x'",
		},
		ColumnsOfCheckpoints: map[string]string{
			"number": "number + 1000", "at": "at + 1", "oldest": "oldest + 1", "previous": longer("previous"),
			"sum": longer("sum"), "leaves": longer("leaves"), "scope": "scope || 'x'",
		},
	}
}

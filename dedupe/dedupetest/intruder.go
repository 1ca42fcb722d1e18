package dedupetest

import "github.com/webhook-sidecar/webhook-sidecar/dedupe"

// Intruder is somebody who may write to the tables. Statements have ? for arguments, which are whole numbers and texts.
type Intruder struct {
	// Exec returns how many rows it changed.
	Exec func(sql string, args ...any) (int64, error)
	// Evidence, Receipts and Checkpoints are the tables' names.
	Evidence, Receipts, Checkpoints string
	// OfEvent and EvidenceOf are conditions on receipts and on evidence whose arguments are the scope and the event ID; OfScope
	// is one on checkpoints whose argument is the scope.
	OfEvent, EvidenceOf, OfScope string
	// Older adds a row of evidence as an older version does, to an event: its arguments are those of OfEvent.
	Older string
	// ColumnsOfEvidence, OfReceipts and OfCheckpoints are what can be altered, and expressions for what to write there.
	ColumnsOfEvidence, ColumnsOfReceipts, ColumnsOfCheckpoints map[string][]string
}

func (in *Intruder) must(b *bench, sql string, args ...any) int64 {
	b.Helper()
	changed, err := in.Exec(sql, args...)
	if err != nil {
		b.Fatalf("%s: %v", sql, err)
	}
	return changed
}

func (in *Intruder) older(b *bench, key dedupe.Key) {
	b.Helper()
	if in.must(b, in.Older, string(key.Scope), string(key.EventID)) != 1 {
		b.Fatal("no older row was written")
	}
}

// removeEvent deletes everything that the ledger has of an event.
func (in *Intruder) removeEvent(b *bench, key dedupe.Key) {
	b.Helper()
	for _, sql := range []string{
		"DELETE FROM " + in.Evidence + " WHERE " + in.EvidenceOf, "DELETE FROM " + in.Receipts + " WHERE " + in.OfEvent,
	} {
		in.must(b, sql, string(key.Scope), string(key.EventID))
	}
}

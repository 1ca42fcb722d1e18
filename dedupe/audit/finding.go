package audit

import (
	"encoding/hex"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Kind says what is wrong, from a closed set.
type Kind string

// The kinds of findings.
const (
	Altered           Kind = "altered"            // a row of evidence is not what was written
	Removed           Kind = "removed"            // a row of evidence is gone before its time
	Reordered         Kind = "reordered"          // rows of evidence are not in the order in which they were written
	Added             Kind = "added"              // a row of evidence claims a checkpoint that did not seal it
	Stray             Kind = "stray"              // rows are of no scope: its name, or the receipt that says it, is gone
	ReceiptMissing    Kind = "receipt_missing"    // the evidence is there and its receipt is not
	StateDisagrees    Kind = "state_disagrees"    // the receipt is not what its last evidence led to
	CheckpointAltered Kind = "checkpoint_altered" // a checkpoint is not what was written, or does not follow the one before
	CheckpointMissing Kind = "checkpoint_missing"
	AnchorMismatch    Kind = "anchor_mismatch" // a checkpoint is not the one that was seen before, or is gone
	AnchorsRetired    Kind = "anchors_retired" // all anchors are of checkpoints that went in time: they prove nothing of the rest
)

// Finding is one thing that is wrong. What is not known of it is zero: without a scope it is the ledger's as a whole.
type Finding struct {
	Kind       Kind
	Scope      delivery.Scope
	EventID    delivery.EventID
	Reference  string // of the event
	Checkpoint int64
	Detail     string
}

func ofEvent(kind Kind, key dedupe.Key, checkpoint int64, detail string) Finding {
	return Finding{
		Kind: kind, Scope: key.Scope, EventID: key.EventID, Reference: delivery.Reference(key.Scope, key.EventID),
		Checkpoint: checkpoint, Detail: detail,
	}
}

func ofTag(kind Kind, scope delivery.Scope, tag [8]byte, checkpoint int64, detail string) Finding {
	return Finding{Kind: kind, Scope: scope, Reference: hex.EncodeToString(tag[:]), Checkpoint: checkpoint, Detail: detail}
}

func ofCheckpoint(kind Kind, scope delivery.Scope, number int64, detail string) Finding {
	return Finding{Kind: kind, Scope: scope, Checkpoint: number, Detail: detail}
}

// Summary is what an audit of a scope saw.
type Summary struct {
	Scope       delivery.Scope
	Receipts    int64 // all of them
	Events      int64 // with evidence
	Rows        int64 // of evidence
	Sealed      int64 // rows that a checkpoint has
	Unsealed    int64 // rows that the next one will have
	Unchained   int64 // rows of an older version, which nothing protects
	Forgotten   int64 // rows that checkpoints have and that were forgotten in time
	Checkpoints int64
	BeginsAt    int64 // number of the first checkpoint; 0: there is none
	EndsAt      int64
	Anchored    int64 // checkpoints that are the ones that were seen before
	Unanchored  int64 // checkpoints between the first and the last anchor that were not seen before
	Retired     int64 // anchors of checkpoints that are no longer needed
	Findings    int64
}

func (s *Summary) count(evidence []dedupe.Evidence) {
	s.Receipts++
	if len(evidence) == 0 {
		return
	}
	s.Events++
	for i := range evidence {
		s.Rows++
		switch e := &evidence[i]; {
		case e.Sum == dedupe.Sum{}:
			s.Unchained++
		case e.Checkpoint > 0:
			s.Sealed++
		default:
			s.Unsealed++
		}
	}
}

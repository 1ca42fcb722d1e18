package console

import (
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
)

// What can be told of an event's evidence by itself.
const (
	chainWhole     = "whole"     // every row follows the one before it
	chainBroken    = "broken"    // some row does not
	chainUnchained = "unchained" // an older version wrote some of it, which nothing protects
)

// chainOf tells whether the evidence is the chain that was written; empty without evidence.
func chainOf(r dedupe.Receipt) string {
	chained := 0
	for _, e := range r.Evidence {
		if e.Sum != (dedupe.Sum{}) {
			chained++
		}
	}
	switch {
	case len(r.Evidence) == 0 && r.Head == (dedupe.Sum{}):
		return ""
	case !audit.Whole(dedupe.Key{Scope: r.Scope, EventID: r.EventID}, r.Evidence, r.Head):
		return chainBroken
	case chained < len(r.Evidence):
		return chainUnchained
	default:
		return chainWhole
	}
}

func evidenceLine(r dedupe.Receipt) string {
	sealed := 0
	for _, e := range r.Evidence {
		if e.Checkpoint > 0 {
			sealed++
		}
	}
	switch chainOf(r) {
	case chainBroken:
		return "NOT whole: a row was altered, removed or moved; sidecar audit verify tells more"
	case chainUnchained:
		return "older rows are not chained; the others are whole"
	default:
		return fmt.Sprintf("whole; %d of %d rows sealed by checkpoints", sealed, len(r.Evidence))
	}
}

// otherCredential names the credential of a transition where it is not the first delivery's.
func otherCredential(r dedupe.Receipt, e dedupe.Evidence) string {
	if e.CredentialID == "" || e.CredentialID == r.CredentialID {
		return ""
	}
	return "; credential " + e.CredentialID
}

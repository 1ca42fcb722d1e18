package audit

import (
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// maxSearched bounds how many rows of one event are compared to tell a row that was moved from one that was altered.
const maxSearched = 1000

// Whole tells whether an event's evidence, in its order, is the chain that was written, up to the end that the receipt knows.
func Whole(key dedupe.Key, evidence []dedupe.Evidence, head dedupe.Sum) bool {
	whole := true
	last := walk(key, evidence, func(*dedupe.Evidence, Kind) { whole = false })
	return whole && last == head
}

// walk tells of each row that does not follow the row before it, and returns the last sum. Rows of a version that did not
// chain are passed over.
func walk(key dedupe.Key, evidence []dedupe.Evidence, broken func(*dedupe.Evidence, Kind)) dedupe.Sum {
	var previous dedupe.Sum
	for i := range evidence {
		e := &evidence[i]
		if e.Sum == (dedupe.Sum{}) {
			continue
		}
		if e.Link(key, previous) != e.Sum {
			broken(e, whyBroken(key, evidence, e))
		}
		previous = e.Sum
	}
	return previous
}

// whyBroken: a row that follows another one, or none, has lost its place.
func whyBroken(key dedupe.Key, evidence []dedupe.Evidence, e *dedupe.Evidence) Kind {
	if e.Link(key, dedupe.Sum{}) == e.Sum {
		return Reordered
	}
	for i := range evidence[:min(len(evidence), maxSearched)] {
		if e.Link(key, evidence[i].Sum) == e.Sum {
			return Reordered
		}
	}
	return Altered
}

// judge looks at one event: its chain, the chain's end, and the state that it led to.
func judge(h *dedupe.History, found func(Finding)) {
	sound := true
	tell := func(kind Kind, checkpoint int64, detail string) {
		sound = false
		found(ofEvent(kind, h.Key, checkpoint, detail))
	}
	last := walk(h.Key, h.Evidence, func(e *dedupe.Evidence, kind Kind) {
		detail := "the row, or the one before it, is not what was written"
		if kind == Reordered {
			detail = "the row does not stand behind the one that it followed"
		}
		tell(kind, e.Checkpoint, detail)
	})
	switch {
	case sound && last != h.Head && last == dedupe.Sum{}:
		tell(Removed, 0, "the receipt knows of evidence, and there is none")
	case sound && last != h.Head:
		tell(Removed, 0, "the receipt knows of another last row")
	}
	for i := range h.Evidence {
		if h.Evidence[i].Checkpoint < 0 {
			tell(Altered, 0, "the row claims a checkpoint that cannot be")
		}
	}
	if sound && !agrees(h) {
		tell(StateDisagrees, 0, fmt.Sprintf("the receipt is %s, attempts %d, reason %q, status %d, which no evidence led to",
			h.State, h.Attempt, h.Reason, h.Status))
	}
}

package audit

import (
	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// maxSearched bounds how many rows of one event are compared to tell a row that was moved from one that was altered.
const maxSearched = 1000

// Whole tells whether an event's evidence, in its order, is the chain that was written. Of its end only the receipt in the
// ledger knows.
func Whole(key dedupe.Key, evidence []dedupe.Evidence) bool {
	whole := true
	walk(key, evidence, func(*dedupe.Evidence, Kind) { whole = false })
	return whole
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
	if sound && !agrees(h) {
		tell(StateDisagrees, 0, "the receipt is "+h.State.String()+", which no evidence led to")
	}
}

// agrees tells whether the evidence led to the receipt's state, as far as every version of this program leaves evidence.
func agrees(h *dedupe.History) bool {
	if len(h.Evidence) == 0 {
		return !told(h)
	}
	last := &h.Evidence[len(h.Evidence)-1]
	if told(h) {
		return last.To == h.State && last.Reason == h.Reason && last.Status == h.Status
	}
	switch last.To {
	case dedupe.Retryable, dedupe.Queued: // a claim leaves none, and an older version's first attempt that was applied
		return true
	default:
		return last.To == h.State
	}
}

// told says that nothing leads to the receipt's state without evidence.
func told(h *dedupe.History) bool {
	switch h.State {
	case dedupe.Retryable, dedupe.Dead, dedupe.Closed:
		return true
	case dedupe.Queued:
		return h.Reason != dedupe.Accepted
	case dedupe.Applied:
		return h.Attempt > 1
	default:
		return false
	}
}

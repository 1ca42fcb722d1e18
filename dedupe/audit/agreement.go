package audit

import "github.com/webhook-sidecar/webhook-sidecar/dedupe"

// agrees tells whether the evidence led to what the receipt says, as far as every version of this program leaves evidence.
func agrees(h *dedupe.History) bool {
	if len(h.Evidence) == 0 {
		return plain(h)
	}
	last := lastTold(h)
	switch {
	case h.State == dedupe.Claimed:
		return begun(h, last)
	case h.State == last.To:
		return h.Reason == last.Reason && h.Status == status(last) && attempts(last, h.Attempt)
	case h.State == dedupe.Applied && last.Sum == dedupe.Sum{}: // by a version that did not chain, nor tell of a first attempt
		return h.Reason == dedupe.NoReason && h.Attempt == 1 && waits(last) && attempts(last, 0)
	default:
		return false
	}
}

// lastTold is the row of evidence that says why the receipt is as it is. A person's word outlives a claim that was given back.
func lastTold(h *dedupe.History) *dedupe.Evidence {
	last := len(h.Evidence) - 1
	byHand := h.State == dedupe.Retryable && (h.Reason == dedupe.Reopened || h.Reason == dedupe.Replayed)
	for byHand && last > 0 && h.Evidence[last].Reason == dedupe.Abandoned {
		last--
	}
	return &h.Evidence[last]
}

// plain tells whether a receipt may be what it is without evidence.
func plain(h *dedupe.History) bool {
	switch h.State {
	case dedupe.Claimed:
		return h.Attempt == 1 && h.Reason == dedupe.NoReason && h.Status == 0
	case dedupe.Queued:
		return h.Attempt == 0 && h.Reason == dedupe.Accepted && h.Status == 0
	case dedupe.Applied:
		return h.Attempt == 1 && h.Reason == dedupe.NoReason
	default:
		return false
	}
}

// begun tells whether a claim may follow a row. A claim itself leaves none, unless it takes another one over.
func begun(h *dedupe.History, last *dedupe.Evidence) bool {
	if h.Reason != dedupe.NoReason || h.Status != 0 {
		return false
	}
	if last.To == dedupe.Claimed {
		return h.Attempt == last.Attempt+1
	}
	return waits(last) && attempts(last, h.Attempt-1)
}

// status is what a row leaves in the receipt: a request that is stored instead of run clears what the attempt before left.
func status(e *dedupe.Evidence) int {
	if e.Reason == dedupe.Accepted {
		return 0
	}
	return e.Status
}

func waits(e *dedupe.Evidence) bool { return e.To == dedupe.Retryable || e.To == dedupe.Queued }

// attempts tells whether a receipt has so many behind a row: those up to the row's own, or without it where nothing was sent,
// which an event that is too old does not tell.
func attempts(e *dedupe.Evidence, n int) bool {
	switch e.Reason {
	case dedupe.Unreachable, dedupe.Abandoned, dedupe.Unsealable, dedupe.RequestLost:
		return n == e.Attempt-1
	case dedupe.MaxAge:
		return n == e.Attempt || n == e.Attempt-1
	default:
		return n == e.Attempt
	}
}

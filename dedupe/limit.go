package dedupe

import "time"

// usedUp names the limit that attempts and age have reached, or NoReason.
func (l Limit) usedUp(attempts int, age time.Duration) Reason {
	switch {
	case l.MaxAttempts > 0 && attempts >= l.MaxAttempts:
		return MaxAttempts
	case l.MaxAge > 0 && age >= l.MaxAge:
		return MaxAge
	}
	return NoReason
}

// onExpiry is what becomes of an attempt of a delivery whose owner never reports. Its request died with its owner, so
// there is nothing to queue.
func (p Policy) onExpiry(attempt int) State {
	if p.InDoubt == Quarantine || p.Limit.MaxAttempts > 0 && attempt >= p.Limit.MaxAttempts {
		return Dead
	}
	return Retryable
}

// onWorkExpiry is the same where the request is kept, as it is for every attempt of a worker: the next worker may try.
func (p Policy) onWorkExpiry(attempt int) State {
	if state := p.onExpiry(attempt); state != Retryable {
		return state
	}
	return Queued
}

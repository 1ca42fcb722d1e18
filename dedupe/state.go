package dedupe

import "math"

// State is where a receipt is in its life. The numbers are stored and never change their meaning.
type State uint8

// The states of a receipt. doc.go draws the arrows between them.
const (
	Claimed   State = 1 // an attempt is running, its lease is held
	Retryable State = 2 // the next delivery runs again
	Queued    State = 3 // a job waits for its time
	Applied   State = 4 // the result is recorded
	Dead      State = 5 // a person must act
	Closed    State = 6 // a person ended it
)

// StateOf reads a stored number. One that is no state becomes one that equals none of them.
func StateOf(number int64) State {
	if number < 0 || number > math.MaxUint8 {
		return math.MaxUint8
	}
	return State(number)
}

// Reason tells why a receipt is in its state, from a closed set.
type Reason string

// The reasons for a transition.
const (
	NoReason     Reason = ""
	NotFinal     Reason = "not_final"     // the application's answer is not final
	Unreachable  Reason = "unreachable"   // no connection to the application: the attempt does not count
	TimedOut     Reason = "timeout"       // no answer in time
	Incomplete   Reason = "incomplete"    // the answer was cut off or malformed
	LeaseExpired Reason = "lease_expired" // the attempt's owner never reported: a crash, or a ledger out of reach
	Quarantined  Reason = "quarantined"   // the outcome is unknown and in_doubt is quarantine
	MaxAttempts  Reason = "max_attempts"
	MaxAge       Reason = "max_age"
	Rejected     Reason = "rejected"     // accept mode: the application refused the event for good
	Reopened     Reason = "reopened"     // by a person
	Replayed     Reason = "replayed"     // by a person
	ClosedByHand Reason = "closed"       // by a person
	Accepted     Reason = "accepted"     // accept mode: stored, acknowledged
	Abandoned    Reason = "abandoned"    // claimed too late for its delivery, or by a worker that stopped: the attempt does not count
	RequestLost  Reason = "request_lost" // a worker found no kept request
	Unsealable   Reason = "unsealable"   // a worker could not open the kept request: the attempt does not count
)

// byHand tells that a person wants the event to run once more.
func (r Reason) byHand() bool { return r == Reopened || r == Replayed }

// String is the state as it stands in listings, logs and metrics.
func (s State) String() string {
	names := [...]string{"unknown", "claimed", "retryable", "queued", "applied", "dead", "closed"}
	if int(s) >= len(names) {
		return names[0]
	}
	return names[s]
}

// ParseState reads what String writes; false for anything else.
func ParseState(text string) (State, bool) {
	for s := Claimed; s <= Closed; s++ {
		if s.String() == text {
			return s, true
		}
	}
	return 0, false
}

package delivery

// Outcome tells how much of an attempt at the application is known.
type Outcome uint8

// The outcomes of an attempt.
const (
	// NotSent: no byte of the request can have reached the application. The attempt does not count.
	NotSent Outcome = iota + 1
	// Unknown: the request, or a part of it, may have reached the application, and no complete answer came back.
	Unknown
	// Answered: the application's answer was read to its clean end.
	Answered
)

// Cause tells why an attempt brought no answer.
type Cause uint8

// The causes of NotSent and Unknown.
const (
	NoCause     Cause = iota
	Unreachable       // no connection could be made: NotSent
	TimedOut          // the attempt's time was over: Unknown, or NotSent while still connecting
	Incomplete        // the connection was closed or the answer cut off or malformed: Unknown
)

// String is the cause as it stands in logs, metrics and the ledger.
func (c Cause) String() string {
	switch c {
	case Unreachable:
		return "unreachable"
	case TimedOut:
		return "timeout"
	case Incomplete:
		return "incomplete"
	default:
		return "none"
	}
}

// Result is what is known after one attempt at the application.
type Result struct {
	Outcome  Outcome
	Cause    Cause    // NoCause when Answered
	Response Response // set when Answered
}

package dedupe

import "time"

// Policy is how an integration wants its events handled. The zero Policy is not usable: Lease must be set.
type Policy struct {
	Lease     time.Duration // of one attempt; longer than the attempt's timeout
	Record    Record
	InDoubt   InDoubt
	Limit     Limit     // of attempts by deliveries
	Retry     Limit     // of attempts by a worker
	OnFailure OnFailure // accept mode: Queue
	Backoff   Backoff   // Queue: between the attempts
	Retention Retention
}

// Worked is the policy for a worker's attempts: what fails is queued again, within the worker's own limits.
func (p Policy) Worked() Policy {
	p.Limit, p.OnFailure = p.Retry, Queue
	return p
}

// Backoff spaces the attempts of queued events: exponential, with full jitter.
type Backoff struct {
	Initial time.Duration // upper bound of the first wait; 0: 5 s
	Max     time.Duration // upper bound of every wait, also of what the application asks for; 0: 1 h
	// Jitter returns a number in [0, 1) for every wait, from several goroutines; nil: math/rand/v2.
	Jitter func() float64
}

// Record says which answers are final, and what is kept of them.
type Record struct {
	Final    func(status int) bool // nil: 200 to 299
	Rejected func(status int) bool // accept mode: dead at once; nil: none
	Headers  []string              // canonical names that are kept
	MaxBody  int                   // bytes; a larger body is omitted
}

// InDoubt says what follows an attempt whose outcome is unknown.
type InDoubt uint8

// The policies for unknown outcomes.
const (
	Retry      InDoubt = iota // it may run again
	Quarantine                // it is dead until a person decides
)

// OnFailure says what follows an attempt in forward mode that brought no final answer.
type OnFailure uint8

// The policies for failed attempts in forward mode.
const (
	Respond OnFailure = iota // the sender retries
	Queue                    // a job is left behind and the sender gets the acknowledgement
)

// Limit bounds the attempts for one event. Zero fields do not bound.
type Limit struct {
	MaxAttempts int           // attempts that may have reached the application
	MaxAge      time.Duration // since the first claim, by the ledger's clock
}

// Retention is how long rows live after their event is over.
type Retention struct {
	Receipt    time.Duration // after completion; retryable ones after their last attempt
	DeadLetter time.Duration // the kept request of a dead event
}

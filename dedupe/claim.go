package dedupe

import (
	"crypto/sha256"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Token is a fencing token: made anew by the client for every claim, before anything is sent to the store, so that an
// unknown commit is resolved by reading one's own token.
type Token [16]byte

// Request asks for the right to hand an event to the application now.
type Request struct {
	Scope        delivery.Scope
	EventID      delivery.EventID
	Fingerprint  [sha256.Size]byte
	Binding      [sha256.Size]byte // of an unsigned ID to the signed content; zero: not bound
	CredentialID string
	EventType    string
	Object       string
	Trace        string // W3C traceparent of this delivery; kept of the first one
	Policy       Policy
	// Accept stores the event with its Job as queued instead of claiming it (accept mode).
	Accept bool
	// Job makes the request as it is to be kept. It is called only where the event is stored as queued, dies, or is dead and
	// has lost it: then the event keeps it. Nil: the request is not at hand, which Accept does not allow.
	Job func() *Job
	// Wait bounds how long a claim waits for the store and tries, like a deadline of the context, but without costing a
	// duplicate that is answered from memory anything; 0: as long as the context allows.
	Wait time.Duration
}

// Job is a request kept for later: while its event is queued, or dead.
type Job struct {
	Method string
	Target string
	Host   string
	Header map[string][]string
	Body   []byte
	// Sealed tells that the kept request cannot be opened; nothing else is set then.
	Sealed *SealedError
}

// Claim is the right to hand an event to the application: a lease and a fencing token.
type Claim struct {
	Scope   delivery.Scope
	EventID delivery.EventID // of the receipt: for a bound ID it may differ from the delivery's own
	Token   Token
	Attempt int           // 1, 2, …; an attempt that was surely not sent gives its number back
	Age     time.Duration // since the first claim, by the ledger's clock
	Trace   string        // traceparent of the first delivery, when this is a later attempt
	// CredentialID verified the delivery that claims, which may be another one than the receipt's; or the job's delivery.
	CredentialID string
	// Told says that there may be evidence of the event already, so that what becomes of this attempt is evidence, too.
	Told bool
	// Kept says that the event's request is kept, although this is a delivery's claim: what is not final is a worker's then.
	Kept bool
}

// Kind says what a claim was decided to be.
type Kind uint8

// The kinds of decisions.
const (
	Fresh         Kind = iota + 1 // run it: Claim is set
	InFlight                      // another attempt is running
	AlreadyQueued                 // a job waits or has just been stored
	Replay                        // applied: Response is set
	SuspectReplay                 // applied, and this delivery has the same signed content under another unsigned ID: Response is set
	Conflict                      // same ID, other fingerprint: Response is set where the event is applied
	DeadLetter                    // a person must act; LastStatus is set where an answer came
	Ended                         // closed: LastStatus is what the operator chose
)

// Decision is what the ledger says about a delivery.
type Decision struct {
	Kind       Kind
	Claim      Claim              // Fresh
	Response   *delivery.Response // Replay, SuspectReplay, Conflict with a result; shared: do not change
	State      State              // of the receipt, as decided
	Reason     Reason             // of the receipt's state
	LastStatus int                // last answer's status, or the operator's choice; 0: none
	Attempt    int                // attempts so far
	LeaseLeft  time.Duration      // InFlight: until the running attempt's lease ends
	Age        time.Duration      // since the first claim
	Left       time.Duration      // of an applied event: until its receipt may be forgotten, at least
	Trace      string             // traceparent of the first delivery
	First      bool               // AlreadyQueued: this delivery created it
	Kept       bool               // DeadLetter: the event's request is kept, so that its sender need not send it again
	Sealed     *SealedError       // Conflict: the recorded result cannot be opened
}

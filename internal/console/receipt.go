package console

import (
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Receipt is a receipt as JSON. Times are UTC; what is not known is left out.
type Receipt struct {
	Scope       string       `json:"scope"`
	EventID     string       `json:"event_id"`
	Reference   string       `json:"reference"`
	State       string       `json:"state"`
	Reason      string       `json:"reason,omitempty"`
	Attempts    int          `json:"attempts"`
	Status      int          `json:"status,omitempty"`
	Credential  string       `json:"credential"`
	EventType   string       `json:"event_type,omitempty"`
	Object      string       `json:"object,omitempty"`
	Trace       string       `json:"trace,omitempty"`
	Bound       bool         `json:"bound"`
	Request     string       `json:"request"`                // kept or none
	RequestSeal *Seal        `json:"request_seal,omitempty"` // the kept request cannot be opened
	Created     time.Time    `json:"created"`
	Changed     time.Time    `json:"changed"`
	LeaseUntil  *time.Time   `json:"lease_until,omitempty"`
	NextAttempt *time.Time   `json:"next_attempt,omitempty"`
	Expires     *time.Time   `json:"expires,omitempty"`
	Result      *Result      `json:"result,omitempty"`
	ResultSeal  *Seal        `json:"result_seal,omitempty"` // the recorded result cannot be opened
	Evidence    string       `json:"evidence,omitempty"`    // whole, broken or unchained; none without transitions
	Transitions []Transition `json:"transitions,omitempty"`
}

// Seal is why something cannot be opened.
type Seal struct {
	Key     string `json:"key"` // ID of the key that sealed it
	Damaged bool   `json:"damaged,omitempty"`
}

func newSeal(why *dedupe.SealedError) *Seal {
	if why == nil {
		return nil
	}
	return &Seal{Key: why.KeyID.String(), Damaged: why.Damaged}
}

// short is the seal in a table.
func (s *Seal) short() string {
	if s.Damaged {
		return "damaged"
	}
	return "needs key " + s.Key
}

// Result is the recorded answer.
type Result struct {
	Status  int         `json:"status"`
	Header  http.Header `json:"header,omitempty"`
	Body    string      `json:"body,omitempty"` // text only
	Bytes   int         `json:"bytes"`
	Omitted bool        `json:"omitted,omitempty"`
}

// Transition is one change of state that was not the happy path.
type Transition struct {
	At      time.Time `json:"at"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Attempt int       `json:"attempt"`
	Reason  string    `json:"reason,omitempty"`
	Status  int       `json:"status,omitempty"`
	Actor   string    `json:"actor,omitempty"`
	Note    string    `json:"note,omitempty"`

	Credential string     `json:"credential,omitempty"` // of the delivery or job; none of a person and the sweeper
	Until      *time.Time `json:"until,omitempty"`      // when the receipt may be forgotten, as of this transition
	Sum        string     `json:"sum,omitempty"`        // continues the event's chain; none of an older version
	Checkpoint int64      `json:"checkpoint,omitempty"` // that sealed it; none yet
}

// NewReceipt translates a receipt.
func NewReceipt(r dedupe.Receipt) Receipt {
	shown := Receipt{
		Scope: string(r.Scope), EventID: string(r.EventID), Reference: r.Reference, State: r.State.String(),
		Reason: string(r.Reason), Attempts: r.Attempts, Status: r.Status, Credential: r.CredentialID,
		EventType: r.EventType, Object: r.Object, Trace: r.Trace, Bound: r.Bound, Request: "none",
		Created: utc(r.Created), Changed: utc(r.Changed), Expires: known(r.Expires), Result: newResult(r),
		RequestSeal: newSeal(r.JobSealed), ResultSeal: newSeal(r.Sealed),
	}
	if r.HasJob {
		shown.Request = "kept"
	}
	if r.State == dedupe.Claimed {
		shown.LeaseUntil = known(r.LeaseUntil)
	}
	if r.State == dedupe.Queued {
		shown.NextAttempt = known(r.NextAttempt)
	}
	for _, e := range r.Evidence {
		shown.Transitions = append(shown.Transitions, newTransition(e))
	}
	shown.Evidence = chainOf(r)
	return shown
}

func newTransition(e dedupe.Evidence) Transition {
	shown := Transition{
		At: utc(e.At), From: e.From.String(), To: e.To.String(), Attempt: e.Attempt, Reason: string(e.Reason),
		Status: e.Status, Actor: e.Actor, Note: e.Note,
		Credential: e.CredentialID, Until: known(e.Until), Checkpoint: e.Checkpoint,
	}
	if e.Sum != (dedupe.Sum{}) {
		shown.Sum = e.Sum.String()
	}
	return shown
}

// NewReceipts translates receipts. It is never nil, so that an empty list is [] in JSON.
func NewReceipts(receipts []dedupe.Receipt) []Receipt {
	shown := make([]Receipt, 0, len(receipts))
	for _, r := range receipts {
		shown = append(shown, NewReceipt(r))
	}
	return shown
}

func newResult(r dedupe.Receipt) *Result {
	if r.Response == nil {
		return nil
	}
	result := &Result{
		Status: r.Response.Status, Header: r.Response.Header, Bytes: len(r.Response.Body), Omitted: r.Response.Omitted,
	}
	if utf8.Valid(r.Response.Body) {
		result.Body = string(r.Response.Body)
	}
	return result
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = utc(t)
	return &t
}

// utc is a time as JSON can tell it. Years of more than four digits, which only somebody who alters the ledger writes, are told
// as the last one: what is wrong must not keep the rest from being exported.
func utc(t time.Time) time.Time {
	t = t.UTC()
	if t.Year() > 9999 {
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	}
	if t.Year() < 0 {
		return time.Time{}
	}
	return t
}

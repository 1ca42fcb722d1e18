package console

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
)

// Story tells what became of an event: who sent it, every transition, and what happens next.
func Story(w io.Writer, r dedupe.Receipt, now time.Time) error {
	page := &pageWriter{w: w}
	page.line("Event %s of %s", printable(string(r.EventID)), r.Scope)
	page.line("")
	page.row("reference", "%s", r.Reference)
	page.row("state", "%s", stateLine(r))
	page.row("attempts", "%d", r.Attempts)
	page.row("verified by", "credential %s", r.CredentialID)
	if r.EventType != "" {
		page.row("type", "%s", printable(r.EventType))
	}
	if r.Object != "" {
		page.row("object", "%s", printable(r.Object))
	}
	if r.Bound {
		page.row("event ID", "not signed by the sender; bound to the signed content")
	}
	if r.Trace != "" {
		page.row("trace", "%s", r.Trace)
	}
	if r.HasJob || r.State == dedupe.Dead || r.State == dedupe.Retryable {
		page.row("request", "%s", requestLine(r))
	}
	if r.Sealed != nil {
		page.row("result", "recorded, and %s", r.Sealed.Cause())
	}
	if chainOf(r) != "" {
		page.row("evidence", "%s", evidenceLine(r))
	}
	page.line("")
	page.line("What happened")
	for _, step := range steps(r) {
		page.line("  %s  %s", stamp(step.at), step.text)
	}
	page.line("")
	page.line("What happens next")
	page.line("  %s", next(r, now))
	return page.err
}

func stateLine(r dedupe.Receipt) string {
	if r.Reason == dedupe.NoReason {
		return r.State.String()
	}
	return fmt.Sprintf("%s (%s)", r.State, r.Reason)
}

func requestLine(r dedupe.Receipt) string {
	if r.JobSealed != nil {
		return "kept, and " + r.JobSealed.Cause()
	}
	if r.HasJob {
		return "kept: a replay sends the same bytes"
	}
	return "none: the sender's next delivery supplies the bytes"
}

// step is one line of the story.
type step struct {
	at   time.Time
	text string
}

// steps are the first claim, the evidence, and the happy path's end, which leaves no evidence.
func steps(r dedupe.Receipt) []step {
	told := []step{{r.Created, "first delivery, verified by credential " + r.CredentialID}}
	for _, e := range r.Evidence {
		told = append(told, step{e.At, transition(e) + otherCredential(r, e)})
	}
	if r.State == dedupe.Applied && !inEvidence(r) {
		told = append(told, step{r.Changed, fmt.Sprintf("attempt %d: the application answered %d, recorded", r.Attempts, r.Status)})
	}
	if r.State == dedupe.Claimed {
		told = append(told, step{r.Changed, fmt.Sprintf("attempt %d began", r.Attempts)})
	}
	return told
}

// inEvidence tells whether the evidence has the recorded answer already, as it has after anything but a happy path.
func inEvidence(r dedupe.Receipt) bool {
	for _, e := range r.Evidence {
		if e.To == dedupe.Applied && e.Attempt == r.Attempts {
			return true
		}
	}
	return false
}

// transition is one change of state in words: the arrow, what came before it, and who made it.
func transition(e dedupe.Evidence) string {
	text := fmt.Sprintf("%s -> %s", e.From, e.To)
	if e.Attempt > 0 {
		text = fmt.Sprintf("attempt %d: %s", e.Attempt, text)
	}
	var about []string
	if because := reasonText(e.Reason); because != "" {
		about = append(about, because)
	}
	if e.Status != 0 {
		about = append(about, fmt.Sprintf("status %d", e.Status))
	}
	if e.Actor != "" {
		about = append(about, "by "+printable(e.Actor))
	}
	if e.Note != "" {
		about = append(about, printable(e.Note))
	}
	if len(about) == 0 {
		return text
	}
	return text + "; " + strings.Join(about, "; ")
}

// reasonText is a reason in words.
func reasonText(reason dedupe.Reason) string {
	words := map[dedupe.Reason]string{
		dedupe.NotFinal:     "the application's answer was not final",
		dedupe.Unreachable:  "the application could not be reached, which does not count",
		dedupe.TimedOut:     "the application did not answer in time",
		dedupe.Incomplete:   "the application's answer was cut off or malformed",
		dedupe.LeaseExpired: "the attempt's owner never reported (a crash, or a ledger out of reach)",
		dedupe.Quarantined:  "the outcome is unknown and in_doubt is quarantine",
		dedupe.MaxAttempts:  "the attempts allowed are used up",
		dedupe.MaxAge:       "the event is older than allowed",
		dedupe.Rejected:     "the application refused the event for good",
		dedupe.Reopened:     "reopened",
		dedupe.Replayed:     "replayed",
		dedupe.ClosedByHand: "closed",
		dedupe.Accepted:     "stored and acknowledged",
		dedupe.Abandoned:    "claimed too late for its delivery, or its worker stopped; nothing was sent, which does not count",
		dedupe.RequestLost:  "a worker found no stored request",
		dedupe.Unsealable:   "a worker could not open the stored request, which does not count",
	}
	if text, known := words[reason]; known {
		return text
	}
	return string(reason)
}

// next is what follows if nobody does anything.
func next(r dedupe.Receipt, now time.Time) string {
	switch r.State {
	case dedupe.Claimed:
		if now.After(r.LeaseUntil) {
			return "The lease has run out: the next delivery or the sweeper takes over."
		}
		return fmt.Sprintf("The attempt holds its lease until %s; duplicates are told to come back.", stamp(r.LeaseUntil))
	case dedupe.Retryable:
		return fmt.Sprintf("The sender's next delivery runs as attempt %d.%s", r.Attempts+1, forgotten(r))
	case dedupe.Queued:
		if r.JobSealed != nil {
			return fmt.Sprintf("A worker looks again at %s; nothing is sent before the request can be opened.", stamp(r.NextAttempt))
		}
		return fmt.Sprintf("A worker tries again at %s.", stamp(r.NextAttempt))
	case dedupe.Applied:
		if r.Sealed != nil {
			return "Duplicates get 503 until the result can be opened." + forgotten(r)
		}
		return "Duplicates get the recorded result." + forgotten(r)
	case dedupe.Dead:
		return "A person must act: sidecar dead-letters replay, or close."
	case dedupe.Closed:
		return fmt.Sprintf("Duplicates are answered %d.%s", r.Status, forgotten(r))
	default:
		return "Nothing is known."
	}
}

func forgotten(r dedupe.Receipt) string {
	if r.Expires.IsZero() {
		return ""
	}
	return fmt.Sprintf(" Forgotten after %s.", stamp(r.Expires))
}

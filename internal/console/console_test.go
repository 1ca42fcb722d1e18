package console_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func receipt() dedupe.Receipt {
	return dedupe.Receipt{
		Scope: "acme/orders", EventID: "evt_1", Reference: "0123456789abcdef", State: dedupe.Applied, Attempts: 2,
		CredentialID: "key-1", EventType: "order.paid", Created: at, Changed: at.Add(time.Minute), Status: 201,
		Expires:  at.Add(24 * time.Hour),
		Response: &delivery.Response{Status: 201, Body: []byte("made")},
		Evidence: []dedupe.Evidence{
			{At: at.Add(time.Second), From: dedupe.Claimed, To: dedupe.Retryable, Attempt: 1, Reason: dedupe.NotFinal, Status: 500, Actor: "replica-1"},
			{At: at.Add(time.Minute), From: dedupe.Claimed, To: dedupe.Applied, Attempt: 2, Status: 201, Actor: "replica-2"},
		},
	}
}

func story(t *testing.T, r dedupe.Receipt) string {
	t.Helper()
	var page bytes.Buffer
	if err := console.Story(&page, r, at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestAStoryHasEveryTransition(t *testing.T) {
	got := story(t, receipt())
	for _, want := range []string{
		"Event evt_1 of acme/orders", "verified by  credential key-1",
		"2026-11-30 12:00:00Z  first delivery, verified by credential key-1",
		"2026-11-30 12:00:01Z  attempt 1: claimed -> retryable; the application's answer was not final; status 500; by replica-1",
		"2026-11-30 12:01:00Z  attempt 2: claimed -> applied; status 201; by replica-2",
		"Duplicates get the recorded result. Forgotten after 2026-12-01 12:00:00Z.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "2026-11-30 12:01:00Z") != 1 {
		t.Errorf("the end is told twice:\n%s", got)
	}
}

func TestTheHappyPathIsToldWithoutEvidence(t *testing.T) {
	r := receipt()
	r.Attempts, r.Evidence = 1, nil
	if got := story(t, r); !strings.Contains(got, "2026-11-30 12:01:00Z  attempt 1: the application answered 201, recorded") {
		t.Errorf("got\n%s", got)
	}
}

func TestWhatHappensNext(t *testing.T) {
	for state, want := range map[dedupe.State]string{
		dedupe.Claimed:   "The lease has run out: the next delivery or the sweeper takes over.",
		dedupe.Retryable: "The sender's next delivery runs as attempt 3.",
		dedupe.Queued:    "A worker tries again at 2026-11-30 13:30:00Z.",
		dedupe.Applied:   "Duplicates get the recorded result.",
		dedupe.Dead:      "A person must act: sidecar dead-letters replay, or close.",
		dedupe.Closed:    "Duplicates are answered 410.",
	} {
		r := receipt()
		r.State, r.LeaseUntil, r.NextAttempt = state, at.Add(time.Minute), at.Add(90*time.Minute)
		if state == dedupe.Closed {
			r.Status = 410
		}
		if got := story(t, r); !strings.Contains(got, want) {
			t.Errorf("%s: want %q in\n%s", state, want, got)
		}
	}
	r := receipt()
	r.State, r.LeaseUntil = dedupe.Claimed, at.Add(2*time.Hour)
	if got := story(t, r); !strings.Contains(got, "holds its lease until 2026-11-30 14:00:00Z") {
		t.Errorf("got\n%s", got)
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, reason := range []dedupe.Reason{
		dedupe.NotFinal, dedupe.Unreachable, dedupe.TimedOut, dedupe.Incomplete, dedupe.LeaseExpired, dedupe.Quarantined,
		dedupe.MaxAttempts, dedupe.MaxAge, dedupe.Rejected, dedupe.Abandoned, dedupe.RequestLost, dedupe.Unsealable,
	} {
		r := receipt()
		r.Evidence = []dedupe.Evidence{{From: dedupe.Claimed, To: dedupe.Dead, Attempt: 1, Reason: reason}}
		if got := story(t, r); strings.Contains(got, "; "+string(reason)+"\n") {
			t.Errorf("%s is told as a code", reason)
		}
	}
}

func TestForeignTextCannotMoveTheCursor(t *testing.T) {
	r := receipt()
	r.Object = "\x1b[2J\r\n\u202e"
	r.Evidence[0].Note = "line\nbreak\x07"
	got := story(t, r)
	for _, unwanted := range []string{"\x1b", "\r", "\x07", "\u202e", "line\nbreak"} {
		if strings.Contains(got, unwanted) {
			t.Errorf("%q reaches the terminal", unwanted)
		}
	}
}

func TestAListIsOneLineAReceipt(t *testing.T) {
	long := receipt()
	long.EventID = delivery.EventID(strings.Repeat("x", 255))
	var page bytes.Buffer
	if err := console.List(&page, []dedupe.Receipt{receipt(), long}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(page.String(), "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "0123456789abcdef  acme/orders  evt_1") {
		t.Errorf("got\n%s", page.String())
	}
}

func TestJSONLeavesOutWhatIsNotKnown(t *testing.T) {
	r := receipt()
	r.Expires, r.EventType = time.Time{}, ""
	text, err := json.Marshal(console.NewReceipt(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"expires", "event_type", "lease_until", "0001-01-01"} {
		if strings.Contains(string(text), unwanted) {
			t.Errorf("%s in %s", unwanted, text)
		}
	}
	if empty, _ := json.Marshal(console.NewReceipts(nil)); string(empty) != "[]" {
		t.Errorf("no receipts are %s", empty)
	}
}

func TestABodyThatIsNoTextIsOnlyCounted(t *testing.T) {
	r := receipt()
	r.Response.Body = []byte{0xff, 0xfe}
	shown := console.NewReceipt(r)
	if shown.Result.Body != "" || shown.Result.Bytes != 2 {
		t.Errorf("got %+v", shown.Result)
	}
}

// What cannot be opened is told with the key that it wants, in every form.
func TestWhatCannotBeOpenedIsTold(t *testing.T) {
	r := receipt()
	r.Response, r.Sealed = nil, &dedupe.SealedError{KeyID: dedupe.KeyID{0xab}}
	if got := story(t, r); !strings.Contains(got, "recorded, and what is kept is sealed with key ab00000000000000, which is not at hand") ||
		!strings.Contains(got, "Duplicates get 503") {
		t.Errorf("told as\n%s", got)
	}
	queued := dedupe.Receipt{Scope: "a/b", EventID: "q", State: dedupe.Queued, Reason: dedupe.Unsealable, HasJob: true,
		JobSealed: &dedupe.SealedError{KeyID: dedupe.KeyID{0xcd}, Damaged: true}}
	if got := story(t, queued); !strings.Contains(got, "kept, and what is kept is sealed with key cd00000000000000 and damaged") ||
		!strings.Contains(got, "nothing is sent before") {
		t.Errorf("told as\n%s", got)
	}
	var page bytes.Buffer
	if err := console.List(&page, []dedupe.Receipt{r, r, queued, receipt()}); err != nil {
		t.Fatal(err)
	}
	if got := page.String(); !strings.Contains(got, "2 of them: what is kept is sealed with key ab00000000000000, which") || strings.Count(got, "of them") != 2 {
		t.Errorf("listed as\n%s", got)
	}
	text, err := json.Marshal(console.NewReceipts([]dedupe.Receipt{r, queued}))
	if err != nil || !strings.Contains(string(text), `"result_seal":{"key":"ab00000000000000"}`) ||
		!strings.Contains(string(text), `"request_seal":{"key":"cd00000000000000","damaged":true}`) {
		t.Errorf("as JSON %s, %v", text, err)
	}
	dead := queued
	dead.State, dead.JobSealed = dedupe.Dead, &dedupe.SealedError{KeyID: dedupe.KeyID{0xab}}
	page.Reset()
	if err := console.DeadLetters(&page, console.NewDeadLetters([]dedupe.Receipt{dead, queued}, nil, at)); err != nil {
		t.Fatal(err)
	}
	if got := page.String(); !strings.Contains(got, "kept, needs key ab00000000000000") || !strings.Contains(got, "kept, damaged") {
		t.Errorf("dead letters are\n%s", got)
	}
}

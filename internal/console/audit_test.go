package console_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
)

// chained gives a receipt's evidence its sums.
func chained(r dedupe.Receipt) dedupe.Receipt {
	var last dedupe.Sum
	for i := range r.Evidence {
		r.Evidence[i].Sum = r.Evidence[i].Link(dedupe.Key{Scope: r.Scope, EventID: r.EventID}, last)
		last = r.Evidence[i].Sum
	}
	r.Head = last
	return r
}

func TestAStoryTellsWhetherItsEvidenceIsWhole(t *testing.T) {
	whole := receipt()
	whole.Evidence[0].CredentialID, whole.Evidence[1].CredentialID, whole.Evidence[0].Checkpoint = "key-1", "key-2", 7
	whole = chained(whole)
	altered := chained(receipt())
	altered.Evidence[0].Status = 200
	older := chained(receipt())
	older.Evidence[1].Sum = dedupe.Sum{}
	older.Head = older.Evidence[0].Sum
	cut, none := chained(receipt()), chained(receipt())
	cut.Evidence = cut.Evidence[:1]
	none.Evidence = nil
	happy := receipt()
	happy.Evidence = nil
	for name, c := range map[string]struct {
		receipt          dedupe.Receipt
		says, evidenceIs string
	}{
		"whole":   {whole, "whole; 1 of 2 rows sealed by checkpoints", "whole"},
		"altered": {altered, "NOT whole", "broken"},
		"cut":     {cut, "NOT whole", "broken"},
		"none":    {none, "NOT whole", "broken"},
		"older":   {older, "older rows are not chained", "unchained"},
		"happy":   {happy, "", ""},
	} {
		if got := story(t, c.receipt); c.says == "" && strings.Contains(got, "evidence") || !strings.Contains(got, c.says) {
			t.Errorf("%s: the story is\n%s", name, got)
		}
		if got := console.NewReceipt(c.receipt).Evidence; got != c.evidenceIs {
			t.Errorf("%s: the evidence is %q", name, got)
		}
	}
	got := story(t, whole)
	if !strings.Contains(got, "by replica-2; credential key-2") || strings.Contains(got, "by replica-1; credential") {
		t.Errorf("the other credential is not told, or the first one is twice:\n%s", got)
	}
	shown := console.NewReceipt(whole).Transitions[0]
	if shown.Credential != "key-1" || shown.Checkpoint != 7 || shown.Sum != whole.Evidence[0].Sum.String() || shown.Until != nil {
		t.Errorf("a transition is %+v", shown)
	}
}

func TestAnAuditReport(t *testing.T) {
	report := &console.AuditReport{}
	for range 1003 {
		report.Add(audit.Finding{Kind: audit.Altered, Scope: "acme/orders", EventID: "evt\x1b1", Reference: "0123456789abcdef", Checkpoint: 3, Detail: "why"})
	}
	report.Conclude([]audit.Summary{{Scope: "acme/orders", Rows: 1003, Unanchored: 2, Findings: 1003}})
	var page bytes.Buffer
	if err := report.Page(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`altered  acme/orders  event evt\x1b1  reference 0123456789abcdef  checkpoint 3`, "and 3 more", "2 checkpoints between the anchors have none",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, page.String()[:400])
		}
	}
	if report.OK || len(report.Findings) != 1000 || report.More != 3 {
		t.Errorf("the report has %d findings and %d more", len(report.Findings), report.More)
	}
	sound := &console.AuditReport{}
	sound.Conclude(nil)
	text, err := json.Marshal(sound)
	if err != nil || string(text) != `{"ok":true,"findings":[],"scopes":[]}` {
		t.Errorf("an empty report is %s, %v", text, err)
	}
}

// An exported checkpoint is an anchor.
func TestAnExportedCheckpointIsAnAnchor(t *testing.T) {
	c := dedupe.Checkpoint{Scope: "acme/orders", Number: 3, At: at, Oldest: 1, Leaves: make([]byte, 96), Previous: dedupe.Sum{1}, Sum: dedupe.Sum{2}}
	text, err := json.Marshal(console.NewCheckpointLine(&c))
	if err != nil {
		t.Fatal(err)
	}
	anchors, err := audit.ReadAnchors(bytes.NewReader(text))
	if err != nil || len(anchors) != 1 || anchors[0] != (audit.Anchor{Scope: c.Scope, Number: 3, Sum: c.Sum}) {
		t.Errorf("%s is read as %+v, %v", text, anchors, err)
	}
	if !strings.Contains(string(text), `"rows":2`) {
		t.Errorf("exported as %s", text)
	}
}

// Whatever somebody wrote into the ledger, an export tells it, and goes on.
func TestNoTimeStopsAnExport(t *testing.T) {
	for _, strange := range []time.Time{
		{}, time.UnixMicro(math.MaxInt64), time.UnixMicro(math.MinInt64), time.UnixMicro(math.MaxInt64 - 1), time.Unix(0, 0),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)), time.Date(294276, 12, 31, 23, 59, 59, 999999000, time.UTC),
	} {
		r := receipt()
		r.Created, r.Changed, r.Expires, r.LeaseUntil, r.NextAttempt = strange, strange, strange, strange, strange
		r.Evidence[0].At, r.Evidence[0].Until = strange, strange
		var lines []any
		for _, r.State = range []dedupe.State{dedupe.Claimed, dedupe.Queued, dedupe.Applied} {
			lines = append(lines, console.NewReceipt(r))
		}
		lines = append(lines, console.NewPauseLine(dedupe.PauseAct{At: strange}), console.NewRotationLine(dedupe.RotationAct{At: strange}),
			console.NewCredentialLine(dedupe.CredentialEvent{At: strange}), console.NewCheckpointLine(&dedupe.Checkpoint{At: strange}))
		for _, line := range lines {
			if _, err := json.Marshal(line); err != nil {
				t.Errorf("%v: %v", strange, err)
			}
		}
	}
}

func TestAnExportedEventHasNoRecordedBody(t *testing.T) {
	h := dedupe.History{Row: dedupe.Row{
		Key: dedupe.Key{Scope: "acme/orders", EventID: "evt_1"}, State: dedupe.Applied, CredentialID: "key-1", Status: 201,
		Created: at, Changed: at.Add(time.Second),
	}, Head: dedupe.Sum{9}}
	text, err := json.Marshal(console.NewEventLine(&h))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"event"`, `"credential":"key-1"`, `"state":"applied"`, `"status":201`, `"chain":"09`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("nothing says %s in %s", want, text)
		}
	}
	if strings.Contains(string(text), `"result"`) {
		t.Errorf("exported %s", text)
	}
}

package drill

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func sampleReport() Report {
	good := Step{ID: "a", Title: "Good", Promise: "it holds", Verdict: Passed, Took: time.Second}
	good.note("seen")
	bad := Step{ID: "b", Title: "Bad", Promise: "it holds too", Verdict: Passed}
	bad.note("one thing")
	bad.expect("another thing", answer{status: 200, receipt: "applied"}, "401")
	missing := Step{ID: "c", Title: "Missing", Verdict: NotApplicable}
	missing.note("needs several replicas")
	return Report{Ledger: "embedded", Replicas: 1, Bound: 2 * time.Second, Steps: []Step{good, bad, missing}}
}

func TestAStepWithOneBadFindingHasFailed(t *testing.T) {
	r := sampleReport()
	if r.failed() != 1 || r.Steps[0].Verdict != Passed || r.Steps[1].Verdict != Failed || r.Steps[2].Verdict != NotApplicable {
		t.Errorf("%d failed: %+v", r.failed(), r.Steps)
	}
	step := Step{Verdict: Passed}
	if step.failed(nil) || !step.failed(errors.New("no ledger")) || step.Verdict != Failed {
		t.Errorf("%+v", step)
	}
}

func TestTheTableTellsWhatIsBad(t *testing.T) {
	r := sampleReport()
	var brief, whole strings.Builder
	if err := errors.Join(r.Text(&brief, false), r.Text(&whole, true)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"passed  Good", "failed  Bad", "BAD another thing: 200 applied, must be 401", "n/a     Missing",
		"needs several replicas", "FAILED", "1 passed, 1 failed, 1 n/a"} {
		if !strings.Contains(brief.String(), want) {
			t.Errorf("lacks %q:\n%s", want, brief.String())
		}
	}
	if strings.Contains(brief.String(), "one thing") || !strings.Contains(whole.String(), "one thing") ||
		!strings.Contains(whole.String(), "must hold: it holds too") {
		t.Errorf("brief:\n%s\nwhole:\n%s", brief.String(), whole.String())
	}
}

func TestTheReportIsJSON(t *testing.T) {
	var out strings.Builder
	if err := sampleReport().JSON(&out); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || len(back.Steps) != 3 || back.Steps[1].Verdict != Failed {
		t.Errorf("%v: %s", err, out.String())
	}
}

// What a ledger has gained, lost and changed is told, and nothing else.
func TestRowsSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := rapid.MapOfN(rapid.StringMatching(`[ab]/c [1-5]`), rapid.SampledFrom([]string{"claimed", "applied"}), 0, 8)
		before, after := rows(moment.Draw(t, "before")), rows(moment.Draw(t, "after"))
		want := 0
		for name, is := range after {
			if before[name] != is {
				want++
			}
		}
		for name := range before {
			if _, still := after[name]; !still {
				want++
			}
		}
		if got := after.since(before); len(got) != want {
			t.Errorf("%v since %v: %q, want %d changes", after, before, got, want)
		}
	})
}

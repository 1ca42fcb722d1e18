package drill

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Report is what came of a drill. It carries no secret.
type Report struct {
	Version  string        `json:"version"`
	Ledger   string        `json:"ledger"`
	Replicas int           `json:"replicas"`
	Bound    time.Duration `json:"bound_ns"` // declared, from a change of the files to its effect
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	Passed   bool          `json:"passed"`
	Steps    []Step        `json:"steps"`
}

// JSON writes the report for programs.
func (r Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Text writes the report for people; all tells every finding and not only the bad ones.
func (r Report) Text(w io.Writer, all bool) error {
	page := &page{w: w}
	page.line("The leaked-key drill, %s", r.Started.Format("2006-01-02 15:04:05Z"))
	page.line("  program   %s", r.Version)
	page.line("  ledger    %s", r.Ledger)
	page.line("  replicas  %d", r.Replicas)
	page.line("  bound     %s from a change of the files to its effect", r.Bound)
	page.line("")
	for number, step := range r.Steps {
		page.step(number+1, step, all)
	}
	page.line("")
	page.line("%s", r.verdict())
	return page.err
}

func (r Report) failed() int {
	failed := 0
	for _, step := range r.Steps {
		if step.Verdict == Failed {
			failed++
		}
	}
	return failed
}

func (r Report) verdict() string {
	missing := 0
	for _, step := range r.Steps {
		if step.Verdict == NotApplicable {
			missing++
		}
	}
	counts := fmt.Sprintf("%d passed, %d failed, %d n/a, in %s", len(r.Steps)-r.failed()-missing, r.failed(), missing,
		r.Took.Round(100*time.Millisecond))
	if r.Passed {
		return "PASSED: the leaked key stayed within one account. " + counts + "."
	}
	return "FAILED: do not enable retries before this is understood. " + counts + "."
}

// page writes lines until one fails.
type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *page) step(number int, step Step, all bool) {
	took := step.Took.Round(time.Millisecond).String()
	if step.Verdict == NotApplicable {
		took = ""
	}
	p.line("%2d  %-6s  %-62s %8s", number, step.Verdict, step.Title, took)
	if all {
		p.line("            must hold: %s", step.Promise)
	}
	for _, finding := range step.Findings {
		if all || !finding.Good || step.Verdict == NotApplicable {
			mark := "ok "
			if !finding.Good {
				mark = "BAD"
			}
			p.line("            %s %s", mark, finding.Text)
		}
	}
}

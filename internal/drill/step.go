package drill

import (
	"fmt"
	"time"
)

// Verdict is what came of a step.
type Verdict string

// The verdicts.
const (
	Passed        Verdict = "passed"
	Failed        Verdict = "failed"
	NotApplicable Verdict = "n/a"
)

// Step is one step of a drill and what was seen in it.
type Step struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Promise  string        `json:"promise"` // what must hold
	Verdict  Verdict       `json:"verdict"`
	Findings []Finding     `json:"findings"`
	Took     time.Duration `json:"took_ns"`
}

// Finding is one thing that was looked at.
type Finding struct {
	Good bool   `json:"good"`
	Text string `json:"text"`
}

// check notes whether something is as it must be.
func (s *Step) check(good bool, format string, args ...any) bool {
	s.Findings = append(s.Findings, Finding{good, fmt.Sprintf(format, args...)})
	if !good {
		s.Verdict = Failed
	}
	return good
}

// note tells something that can be neither right nor wrong.
func (s *Step) note(format string, args ...any) { s.check(true, format, args...) }

// failed notes an error that kept the step from being played; false without one.
func (s *Step) failed(err error) bool {
	if err == nil {
		return false
	}
	s.check(false, "the step could not be played: %v", err)
	return true
}

// expect compares an answer with what must come: its status, and its receipt where want has one.
func (s *Step) expect(what string, got answer, want string) bool {
	return s.check(got.String() == want, "%s: %s%s", what, got, orWanted(got.String(), want))
}

func orWanted(got, want string) string {
	if got == want {
		return ""
	}
	return ", must be " + want
}

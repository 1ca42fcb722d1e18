package dedupe

import (
	"testing"
	"time"
)

// What a pacer counts is time that has passed; no clock is asked what time it is.
func TestPacer(t *testing.T) {
	var passed time.Duration
	p := &pacer{every: 30 * time.Second, since: func() time.Duration { return passed }}
	for _, step := range []struct {
		at   time.Duration
		due  bool
		done bool
	}{
		{0, true, false}, {0, true, true}, {0, false, false}, {29 * time.Second, false, false}, {30 * time.Second, true, false},
		{31 * time.Second, true, true}, {60 * time.Second, false, false}, {61 * time.Second, true, true},
	} {
		passed = step.at
		if p.due() != step.due {
			t.Errorf("after %v it is due: %t", step.at, p.due())
		}
		if step.done {
			p.done()
		}
	}
}

func TestPacerWithoutPause(t *testing.T) {
	p := newPacer(0)
	p.done()
	if !p.due() {
		t.Error("without a pause it is not always due")
	}
}

package telemetry_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/telemetry"
)

// A process that has not sealed since it started must not look like one that has: its age counts from the start, so that
// the alert comes back after a restart that did not help.
func TestTheAgeOfEvidenceCountsFromTheStart(t *testing.T) {
	w := newWatched(t)
	var sealed time.Time
	start := time.Now()
	if err := telemetry.ObserveEvidence(w.providers.Meter, func() time.Time { return sealed }); err != nil {
		t.Fatal(err)
	}
	registered := time.Now()
	for range 2 {
		least := time.Since(registered).Seconds()
		if age := evidenceAge(t, w); age < least || age > time.Since(start).Seconds() {
			t.Errorf("not sealed yet: %g s, and the process has run for %g", age, least)
		}
	}
	sealed = time.Now().Add(-time.Hour)
	if age := evidenceAge(t, w); age < 3600 {
		t.Errorf("sealed an hour ago: %g s", age)
	}
}

func evidenceAge(t *testing.T, w *watched) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^webhook_evidence_sealed_age_seconds(?:\{[^}]*\})? (\S+)$`).FindStringSubmatch(w.page(t))
	if found == nil {
		t.Fatal("nothing is told")
	}
	age, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return age
}

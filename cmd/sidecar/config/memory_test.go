package config

import (
	"os"
	"runtime/debug"
	"testing"
)

// What runs is at the collector's pace that is documented, unless somebody has said another.
func TestTheCollectorsPaceIsAsSaid(t *testing.T) {
	const untouched = 123
	for name, c := range map[string]struct {
		variable string
		set      bool
		want     int
	}{
		"nothing is said": {"", false, collectorPace}, "it is left empty": {"", true, collectorPace},
		"a number": {"50", true, untouched}, "off": {"off", true, untouched},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", c.variable)
			if !c.set {
				os.Unsetenv("GOGC")
			}
			before := debug.SetGCPercent(untouched)
			defer debug.SetGCPercent(before)
			PaceCollector()
			if got := debug.SetGCPercent(before); got != c.want {
				t.Errorf("the pace is %d, want %d", got, c.want)
			}
		})
	}
}

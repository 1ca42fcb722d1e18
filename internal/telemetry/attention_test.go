package telemetry

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is open is asked for every fifteen seconds, and takes no more than a fiftieth of a connection's time, but at least
// every five minutes.
func TestAttentionLeavesTheLedgerAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := time.Duration(rapid.Int64Range(0, int64(attentionEvery)).Draw(t, "took"))
		pause := attentionPause(took)
		if pause < attentionEvery || pause < 50*took && pause != 5*time.Minute || pause > 5*time.Minute {
			t.Fatalf("%v after a question of %v", pause, took)
		}
		if took <= 300*time.Millisecond && pause != attentionEvery {
			t.Fatalf("%v after a question of only %v", pause, took)
		}
	})
}

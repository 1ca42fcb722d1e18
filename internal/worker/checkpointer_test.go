package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/audit"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
)

// notary answers one round after the other, and ends the checkpointer with the last.
type notary struct {
	rounds []round
	asked  int
	done   context.CancelFunc
	pauses []time.Duration
}

type round struct {
	sealed audit.Sealed
	err    error
}

func (n *notary) Seal(context.Context) (audit.Sealed, error) {
	next := n.rounds[n.asked]
	n.asked++
	return next.sealed, next.err
}

func (n *notary) wait(_ context.Context, d time.Duration) {
	if n.pauses = append(n.pauses, d); n.asked == len(n.rounds) {
		n.done()
	}
}

func sealedBy(t *testing.T, rounds ...round) (*notary, *worker.Checkpointer, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var log bytes.Buffer
	n := &notary{rounds: rounds, done: cancel}
	c, err := worker.NewCheckpointer(worker.CheckpointerConfig{
		Notary: n, Every: time.Hour, Log: slog.New(slog.NewJSONHandler(&log, nil)), Wait: n.wait,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Sealed().IsZero() {
		t.Error("sealed before it began")
	}
	if err := c.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if n.asked != len(rounds) {
		t.Errorf("asked %d times, want %d", n.asked, len(rounds))
	}
	return n, c, log.String()
}

// What is logged of a checkpoint is an anchor.
func TestCheckpointsAreLoggedAsAnchors(t *testing.T) {
	made := dedupe.Checkpoint{Scope: "acme/orders", Number: 7, Oldest: 3, Leaves: make([]byte, 96), Sum: dedupe.Sum{1, 2, 3}}
	n, c, log := sealedBy(t, round{sealed: audit.Sealed{Made: []dedupe.Checkpoint{made}, More: true}}, round{})
	anchors, err := audit.ReadAnchors(strings.NewReader(log))
	if err != nil || len(anchors) != 1 || anchors[0] != (audit.Anchor{Scope: "acme/orders", Number: 7, Sum: made.Sum}) {
		t.Errorf("read %+v, %v from %s", anchors, err, log)
	}
	if !strings.Contains(log, `"rows":2,"oldest":3`) {
		t.Errorf("the log is %s", log)
	}
	if n.pauses[0] > time.Second || n.pauses[1] < 30*time.Minute || n.pauses[1] > 90*time.Minute {
		t.Errorf("pauses are %v", n.pauses)
	}
	if time.Since(c.Sealed()) > time.Minute {
		t.Errorf("sealed at %v", c.Sealed())
	}
}

func TestAFailureToSealIsToldOnce(t *testing.T) {
	away := errors.New("the ledger is away")
	_, c, log := sealedBy(t, round{err: away}, round{err: away}, round{sealed: audit.Sealed{Gone: []delivery.Scope{"acme/orders"}, More: true}})
	for text, times := range map[string]int{"cannot be sealed": 1, "is sealed again": 1, "gone before its time": 1} {
		if got := strings.Count(log, text); got != times {
			t.Errorf("%q is logged %d times in %s", text, got, log)
		}
	}
	if !c.Sealed().IsZero() {
		t.Error("what is left to seal passes for sealed")
	}
}

func TestACheckpointerNeedsANotary(t *testing.T) {
	if _, err := worker.NewCheckpointer(worker.CheckpointerConfig{}); err == nil {
		t.Error("made one without")
	}
}

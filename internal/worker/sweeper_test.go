package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
)

// attic answers sweeps one after the other, and ends the sweeper with the last.
type attic struct {
	answers []answer
	asked   int
	done    context.CancelFunc
}

type answer struct {
	swept dedupe.Swept
	err   error
}

func (a *attic) Sweep(context.Context) (dedupe.Swept, error) {
	next := a.answers[a.asked]
	a.asked++
	if a.asked == len(a.answers) {
		a.done()
	}
	return next.swept, next.err
}

// swept runs a sweeper through answers and returns its log.
func swept(t *testing.T, every time.Duration, answers ...answer) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var log bytes.Buffer
	ledger := &attic{answers: append(answers, answer{}), done: cancel}
	sweeper, err := worker.NewSweeper(worker.SweeperConfig{
		Ledger: ledger, Every: every, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sweeper.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if ledger.asked != len(ledger.answers) {
		t.Errorf("asked %d times, want %d", ledger.asked, len(ledger.answers))
	}
	return log.String()
}

func TestMoreIsSweptAtOnce(t *testing.T) {
	began := time.Now()
	// With an hour between sweeps the second and third batch come in time only if they follow at once.
	more := answer{swept: dedupe.Swept{Expired: 500, More: true}}
	log := swept(t, time.Hour, more, more)
	if time.Since(began) > 10*time.Second {
		t.Error("the sweeper paused though more was waiting")
	}
	if strings.Count(log, "claims=500") != 2 {
		t.Errorf("the log does not tell what ran out:\n%s", log)
	}
}

func TestALedgerOutOfReachIsToldOnceAndTriedAgain(t *testing.T) {
	away := answer{err: errors.New("connection refused")}
	log := swept(t, time.Millisecond, away, away, away, answer{})
	if strings.Count(log, "cannot be swept") != 1 || strings.Count(log, "swept again") != 1 {
		t.Errorf("want one line for the failure and one for its end:\n%s", log)
	}
}

func TestASweepHasATimeout(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stuck := &stuckLedger{cancel: cancel}
	sweeper, err := worker.NewSweeper(worker.SweeperConfig{Ledger: stuck, Timeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := sweeper.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if !errors.Is(stuck.err, context.DeadlineExceeded) {
		t.Errorf("the batch ended with %v", stuck.err)
	}
}

// stuckLedger waits for as long as it is let.
type stuckLedger struct {
	once   sync.Once
	err    error
	cancel context.CancelFunc
}

func (s *stuckLedger) Sweep(ctx context.Context) (dedupe.Swept, error) {
	<-ctx.Done()
	s.once.Do(func() { s.err = ctx.Err() })
	s.cancel()
	return dedupe.Swept{}, ctx.Err()
}

func TestASweeperNeedsALedger(t *testing.T) {
	if _, err := worker.NewSweeper(worker.SweeperConfig{}); err == nil {
		t.Error("a sweeper of nothing")
	}
}

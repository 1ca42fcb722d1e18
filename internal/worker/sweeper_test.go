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

// attic answers sweeps one after the other, and ends the sweeper with the last. It has the sweeper's clock, too.
type attic struct {
	answers []answer
	asked   int
	done    context.CancelFunc
	now     time.Time
	pauses  []time.Duration
}

type answer struct {
	swept dedupe.Swept
	err   error
	took  time.Duration
}

func (a *attic) Sweep(context.Context) (dedupe.Swept, error) {
	next := a.answers[a.asked]
	a.asked++
	a.now = a.now.Add(next.took)
	if a.asked == len(a.answers) {
		a.done()
	}
	return next.swept, next.err
}

func (a *attic) wait(_ context.Context, pause time.Duration) {
	a.pauses, a.now = append(a.pauses, pause), a.now.Add(pause)
}

// sweptBy runs a sweeper through answers and returns its ledger and its log.
func sweptBy(t *testing.T, every time.Duration, answers ...answer) (*attic, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var log bytes.Buffer
	ledger := &attic{answers: append(answers, answer{}), done: cancel, now: time.Now()}
	sweeper, err := worker.NewSweeper(worker.SweeperConfig{
		Ledger: ledger, Every: every, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Wait: ledger.wait, Now: func() time.Time { return ledger.now },
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
	return ledger, log.String()
}

// A sweep that has more to do rests for a multiple of what the batch took, within bounds; one that has not waits for its
// next turn, and so does one that fails. One that fails in part goes on with the rest.
func TestASweepRestsBetweenBatches(t *testing.T) {
	const every = time.Hour
	more := dedupe.Swept{Forgotten: 500, More: true}
	ledger, _ := sweptBy(t, every,
		answer{swept: more, took: 4 * time.Millisecond},
		answer{swept: more, took: 100 * time.Millisecond},
		answer{swept: more, took: 10 * time.Microsecond},
		answer{swept: more, took: time.Minute},
		answer{swept: dedupe.Swept{Expired: 499, More: true}, err: errors.New("a row is locked"), took: 4 * time.Millisecond},
		answer{swept: dedupe.Swept{Forgotten: 20}, took: time.Millisecond},
		answer{swept: dedupe.Swept{Forgotten: 20}, err: errors.New("a row is locked"), took: time.Millisecond},
		answer{swept: dedupe.Swept{More: true}, err: errors.New("the connection was lost"), took: time.Millisecond},
	)
	turns := []time.Duration{12 * time.Millisecond, 300 * time.Millisecond, 5 * time.Millisecond, 5 * time.Second, 12 * time.Millisecond}
	for i, want := range turns {
		if ledger.pauses[i] != want {
			t.Errorf("pause %d is %v, want %v", i, ledger.pauses[i], want)
		}
	}
	for i, pause := range ledger.pauses[len(turns):] {
		if pause < every/2 || pause > 3*every/2 {
			t.Errorf("pause %d is %v, want about %v", i+len(turns), pause, every)
		}
	}
}

// At the pace of a quiet machine (4 ms a batch) a sweeper uses a quarter of a connection and forgets more than the fastest
// ledger takes in.
func TestASweeperKeepsUp(t *testing.T) {
	const batches, size, took = 200, 500, 4 * time.Millisecond
	answers := make([]answer, batches)
	for i := range answers {
		answers[i] = answer{swept: dedupe.Swept{Forgotten: size, More: true}, took: took}
	}
	ledger, _ := sweptBy(t, time.Hour, answers...)
	var rested time.Duration
	for _, pause := range ledger.pauses {
		rested += pause
	}
	total := rested + batches*took
	if share := float64(batches*took) / float64(total); share > 0.26 {
		t.Errorf("a sweep uses %.0f %% of a connection", 100*share)
	}
	if rate := batches * size / total.Seconds(); rate < 20_000 {
		t.Errorf("a sweep forgets %.0f receipts/s", rate)
	}
}

func TestWhatRanOutIsTold(t *testing.T) {
	more := answer{swept: dedupe.Swept{Expired: 500, More: true}}
	if _, log := sweptBy(t, time.Hour, more, more); strings.Count(log, "claims=500") != 2 {
		t.Errorf("the log does not tell what ran out:\n%s", log)
	}
}

// The pause ends with the sweeper.
func TestASweeperEndsWhileItRests(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sweeper, err := worker.NewSweeper(worker.SweeperConfig{Ledger: idle{cancel}, Every: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := sweeper.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// idle has nothing to sweep, and ends the sweeper soon after it said so.
type idle struct{ end context.CancelFunc }

func (i idle) Sweep(context.Context) (dedupe.Swept, error) {
	time.AfterFunc(10*time.Millisecond, i.end)
	return dedupe.Swept{}, nil
}

func TestALedgerOutOfReachIsToldOnceAndTriedAgain(t *testing.T) {
	away := answer{err: errors.New("connection refused")}
	_, log := sweptBy(t, time.Millisecond, away, away, away, answer{})
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

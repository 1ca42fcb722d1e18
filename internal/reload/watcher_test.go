package reload_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
)

// watched is a watcher over a volume; every application is sent to applied.
type watched struct {
	*reload.Watcher
	volume  *volume
	applied chan string
	kick    chan struct{}
}

// watch starts a watcher that refuses contents that begin with "bad".
func watch(t *testing.T, interval time.Duration) *watched {
	t.Helper()
	w := &watched{volume: newVolume(t, map[string]string{"a": "1", "b": "1"}), applied: make(chan string, 100), kick: make(chan struct{})}
	first, _, err := reload.Settled(t.Context(), readBoth(w.volume))
	if err != nil {
		t.Fatal(err)
	}
	w.Watcher, err = reload.New(reload.Config{Interval: interval, First: first, Apply: w.apply, Kick: w.kick})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return w
}

func (w *watched) apply(ctx context.Context) (*reload.Reading, error) {
	reading, got, err := reload.Settled(ctx, readBoth(w.volume))
	if err == nil && len(got) >= 3 && got[:3] == "bad" {
		err = errors.New("refused")
	}
	w.applied <- got
	return reading, err
}

func (w *watched) next(t *testing.T) string {
	t.Helper()
	select {
	case got := <-w.applied:
		return got
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was applied")
		return ""
	}
}

func TestAChangeIsAppliedOnce(t *testing.T) {
	w := watch(t, 20*time.Millisecond)
	w.volume.swap(map[string]string{"a": "2", "b": "2"})
	if got := w.next(t); got != "22" {
		t.Errorf("applied %q", got)
	}
	w.volume.swap(map[string]string{"a": "3", "b": "3"})
	if got := w.next(t); got != "33" {
		t.Errorf("applied %q: the first change was applied twice, or the second half", got)
	}
}

func TestWhatWasRefusedIsNotTriedAgainUntilItChanges(t *testing.T) {
	w := watch(t, 20*time.Millisecond)
	w.volume.swap(map[string]string{"a": "bad", "b": "1"})
	if got := w.next(t); got != "bad1" {
		t.Fatalf("applied %q", got)
	}
	w.volume.swap(map[string]string{"a": "4", "b": "4"})
	if got := w.next(t); got != "44" {
		t.Errorf("applied %q", got)
	}
}

func TestAKickAppliesWhateverChanged(t *testing.T) {
	w := watch(t, time.Hour)
	w.kick <- struct{}{}
	if got := w.next(t); got != "11" {
		t.Errorf("applied %q", got)
	}
}

func TestRefreshedStandsStillWhileTheFilesAreRefused(t *testing.T) {
	w := watch(t, 10*time.Millisecond)
	awaitTrue(t, "a comparison", func() bool { return time.Since(w.Refreshed()) < time.Second })
	w.volume.swap(map[string]string{"a": "bad", "b": "1"})
	w.next(t)
	w.kick <- struct{}{} // taken only when the refusal has been noted
	w.next(t)
	stopped := w.Refreshed()
	w.volume.swap(map[string]string{"a": "5", "b": "5"})
	w.next(t)
	awaitTrue(t, "Refreshed to go on", func() bool { return w.Refreshed().After(stopped) })
}

func TestTheTimeToAnEffectIsMeasured(t *testing.T) {
	w := watch(t, time.Hour)
	if got := w.Propagation(); got != (reload.Propagation{}) {
		t.Errorf("measured %+v before anything changed", got)
	}
	w.kick <- struct{}{} // nothing has changed
	w.next(t)
	began := time.Now()
	w.volume.swap(map[string]string{"a": "2", "b": "2"})
	w.kick <- struct{}{}
	w.next(t)
	awaitTrue(t, "the measurement", func() bool { return w.Propagation().Count == 1 })
	longest := time.Since(began) + 50*time.Millisecond // file systems count in ticks
	if got := w.Propagation(); got.Last <= 0 || got.Last > longest || got.Worst != got.Last {
		t.Errorf("measured %+v of at most %s", got, longest)
	}
	w.volume.swap(map[string]string{"a": "bad", "b": "2"})
	w.kick <- struct{}{}
	w.next(t)
	w.volume.swap(map[string]string{"a": "3", "b": "2"})
	w.kick <- struct{}{}
	w.next(t)
	awaitTrue(t, "the next measurement", func() bool { return w.Propagation().Count == 2 })
}

// A file that is moved into its place tells nothing by its time of when it came: the comparison before does.
func TestAnOldFileThatIsMovedInCountsFromTheLastComparison(t *testing.T) {
	w := watch(t, time.Hour)
	w.kick <- struct{}{}
	w.next(t)
	w.volume.swap(map[string]string{"a": "2", "b": "1"})
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(w.volume.path("a"), old, old); err != nil {
		t.Fatal(err)
	}
	w.kick <- struct{}{}
	w.next(t)
	awaitTrue(t, "the measurement", func() bool { return w.Propagation().Count == 1 })
	if got := w.Propagation().Last; got <= 0 || got > time.Minute {
		t.Errorf("measured %s", got)
	}
}

func awaitTrue(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestNewWantsWhatItNeeds(t *testing.T) {
	if _, err := reload.New(reload.Config{}); err == nil {
		t.Error("a watcher of nothing")
	}
}

package dedupe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// item is a call of a test: a key, and a number to tell it by.
type item struct {
	key    string
	number int
}

// hangar is a store whose flights wait for their clearance.
type hangar struct {
	up    chan []item // each batch that took off
	clear chan error  // one for each landing
	held  chan error  // the same, for the guilty key alone
	ctxs  chan context.Context
	aloft atomic.Int64
	most  atomic.Int64
}

func newHangar() *hangar {
	return &hangar{
		up: make(chan []item, 1000), ctxs: make(chan context.Context, 1000),
		clear: make(chan error, 1000), held: make(chan error, 1000),
	}
}

func (h *hangar) fly(ctx context.Context, items []item) ([]int, error) {
	if now := h.aloft.Add(1); now > h.most.Load() {
		h.most.Store(now)
	}
	defer h.aloft.Add(-1)
	h.ctxs <- ctx
	h.up <- slices.Clone(items)
	clearance := h.clear
	if len(items) == 1 && items[0].key == "guilty" {
		clearance = h.held
	}
	err := <-clearance
	answers := make([]int, len(items))
	for i := range items {
		answers[i] = items[i].number
	}
	return answers, err
}

func itemKey(i item) Key { return Key{Scope: "a/b", EventID: delivery.EventID(i.key)} }

func testGroup(h *hangar, change func(*groupConfig[item, int])) *group[item, int] {
	config := groupConfig[item, int]{
		key: itemKey, fly: h.fly, flights: 1, batch: 256, singles: 2, timeout: time.Minute, suspect: time.Minute,
	}
	if change != nil {
		change(&config)
	}
	return newGroup(config)
}

// answered waits for a call of a test.
func answered(t *testing.T, c *call[item, int], want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if got, err := c.wait(ctx); err != nil || got != want {
		t.Fatalf("answer %d, %v; want %d", got, err, want)
	}
}

func failed(t *testing.T, c *call[item, int], want error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.wait(ctx); !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func keys(items []item) string {
	var text string
	for _, i := range items {
		text += i.key
	}
	return text
}

// Many small batches cost more than few large ones, so a second one takes off only when a whole batch waits.
func TestFullBatchDoesNotWaitForTheFlightBeforeIt(t *testing.T) {
	h := newHangar()
	g := testGroup(h, func(c *groupConfig[item, int]) { c.flights, c.late, c.batch = 2, time.Hour, 3 })
	calls := []*call[item, int]{g.join(item{"a", 0})}
	<-h.up
	for i, key := range []string{"b", "c"} {
		calls = append(calls, g.join(item{key, i + 1}))
	}
	g.mu.Lock()
	flying := g.batches.flying
	g.mu.Unlock()
	if flying != 1 {
		t.Fatalf("%d flights for two calls that wait", flying)
	}
	calls = append(calls, g.join(item{"d", 3}))
	if got := keys(<-h.up); got != "bcd" {
		t.Fatalf("flying: %q", got)
	}
	h.clear <- nil
	h.clear <- nil
	for i, c := range calls {
		answered(t, c, i)
	}
}

// A flight that does not end keeps the others waiting for a moment only, also if nobody comes any more.
func TestLateFlightIsRelieved(t *testing.T) {
	h := newHangar()
	g := testGroup(h, func(c *groupConfig[item, int]) { c.flights, c.late = 2, time.Millisecond })
	held := g.join(item{"guilty", 1})
	<-h.up
	other := g.join(item{"b", 2})
	h.clear <- nil
	answered(t, other, 2)
	h.held <- nil
	answered(t, held, 1)
}

// However flights followed each other before, a call waits for one that does not end no longer than for any other late one.
func TestALateFlightIsRelievedWhateverCameBefore(t *testing.T) {
	const late = 10 * time.Millisecond
	for pause := time.Duration(0); pause <= 2*late; pause += time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			h := newHangar()
			g := testGroup(h, func(c *groupConfig[item, int]) { c.flights, c.late, c.batch = 2, late, 2 })
			held := g.join(item{"guilty", 1})
			<-h.up
			calls := []*call[item, int]{g.join(item{"b", 2}), g.join(item{"c", 3})} // a full batch takes off beside it
			<-h.up
			<-time.After(pause)
			h.clear <- nil
			answered(t, calls[0], 2)
			answered(t, calls[1], 3)
			began := time.Now()
			other := g.join(item{"d", 4})
			h.clear <- nil
			answered(t, other, 4)
			if waited := time.Since(began); waited > late {
				t.Errorf("after %v: waited %v", pause, waited)
			}
			h.held <- nil
			answered(t, held, 1)
		})
	}
}

func TestCallsThatWaitFlyAsOneSortedBatch(t *testing.T) {
	h := newHangar()
	g := testGroup(h, nil)
	first := g.join(item{"m", 1})
	if got := keys(<-h.up); got != "m" {
		t.Fatalf("a call alone waits for others: %q", got)
	}
	var calls []*call[item, int]
	for i, key := range []string{"d", "a", "c", "b"} {
		calls = append(calls, g.join(item{key, i}))
	}
	h.clear <- nil
	answered(t, first, 1)
	if got := keys(<-h.up); got != "abcd" {
		t.Fatalf("the batch is %q", got)
	}
	h.clear <- nil
	for i, c := range calls {
		answered(t, c, i)
	}
	idle(t, g)
}

// idle expects that a group keeps nothing of what is over.
func idle(t *testing.T, g *group[item, int]) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.chains) != 0 || len(g.batches.waiting)+len(g.singles.waiting)+len(g.suspects.waiting) != 0 {
		t.Errorf("the group still holds %d chains", len(g.chains))
	}
}

func TestAKeyIsInOneFlightAtATime(t *testing.T) {
	h := newHangar()
	g := testGroup(h, func(c *groupConfig[item, int]) { c.flights = 4 })
	calls := []*call[item, int]{g.join(item{"same", 0})}
	<-h.up
	calls = append(calls, g.join(item{"same", 1}), g.join(item{"same", 2}))
	other := g.join(item{"other", 9})
	if got := keys(<-h.up); got != "other" {
		t.Fatalf("in flight is %q", got)
	}
	h.clear <- nil
	h.clear <- nil
	answered(t, other, 9)
	answered(t, calls[0], 0)
	for i := 1; i < 3; i++ {
		if got := keys(<-h.up); got != "same" {
			t.Fatalf("in flight is %q", got)
		}
		h.clear <- nil
		answered(t, calls[i], i)
	}
	idle(t, g)
}

func TestAnswersAreSharedWithThoseWhoWaitedAtTakeOff(t *testing.T) {
	h := newHangar()
	g := testGroup(h, func(c *groupConfig[item, int]) { c.share = func(i item, answer int) bool { return answer > 0 } })
	first := g.join(item{"same", 0})
	<-h.up
	second, third := g.join(item{"same", 2}), g.join(item{"same", 3})
	h.clear <- nil
	answered(t, first, 0) // not to be shared
	<-h.up
	late := g.join(item{"same", 4})
	h.clear <- nil
	answered(t, second, 2)
	answered(t, third, 2)
	<-h.up // whoever came after take-off flies anew
	h.clear <- nil
	answered(t, late, 4)
	idle(t, g)
}

func TestBatchesAndFlightsAreBounded(t *testing.T) {
	h := newHangar()
	g := testGroup(h, func(c *groupConfig[item, int]) { c.flights, c.batch = 2, 3 })
	var calls []*call[item, int]
	for i := range 20 {
		calls = append(calls, g.join(item{fmt.Sprint(i), i}))
	}
	for range 20 {
		h.clear <- nil
	}
	for i, c := range calls {
		answered(t, c, i)
	}
	for len(h.up) > 0 {
		if batch := <-h.up; len(batch) > 3 {
			t.Errorf("a batch of %d", len(batch))
		}
	}
	if most := h.most.Load(); most > 2 {
		t.Errorf("%d flights at once", most)
	}
}

func TestACallersContextBoundsItsOwnWaitOnly(t *testing.T) {
	h := newHangar()
	var orphans atomic.Int64
	g := testGroup(h, func(c *groupConfig[item, int]) {
		c.orphan = func(i item, answer int) { orphans.Add(int64(answer)) }
	})
	ctx, cancel := context.WithCancel(t.Context())
	impatient, other := g.join(item{"a", 5}), g.join(item{"b", 6})
	up := <-h.up
	flight := <-h.ctxs
	waiting := g.join(item{"c", 7})
	cancel()
	if _, err := impatient.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := waiting.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if flight.Err() != nil {
		t.Error("a caller cancelled the flight")
	}
	h.clear <- nil
	if len(up) == 1 {
		<-h.up
		h.clear <- nil
	}
	answered(t, other, 6)
	last := g.join(item{"d", 8})
	if got := keys(<-h.up); got != "d" {
		t.Errorf("flown for nobody: %q", got)
	}
	h.clear <- nil
	answered(t, last, 8)
	if orphans.Load() != 5 {
		t.Errorf("orphans are %d", orphans.Load())
	}
	if _, err := g.do(ctx, item{"e", 9}); !errors.Is(err, context.Canceled) {
		t.Error("a call without time was flown")
	}
	idle(t, g)
}

func TestARefusedBatchFallsApart(t *testing.T) {
	h := newHangar()
	g := testGroup(h, nil)
	first := g.join(item{"warm", 0})
	<-h.up
	guilty := g.join(item{"guilty", 1})
	var calls []*call[item, int]
	for i := range 4 {
		calls = append(calls, g.join(item{fmt.Sprint("innocent", i), i}))
	}
	h.clear <- nil
	answered(t, first, 0)
	if batch := <-h.up; len(batch) != 5 {
		t.Fatalf("the batch is %v", batch)
	}
	h.clear <- fmt.Errorf("refused: %w", ErrBatch)
	for range 5 {
		alone := <-h.up
		if len(alone) != 1 {
			t.Fatalf("flown after all: %v", alone)
		}
		if alone[0].key != "guilty" {
			h.clear <- nil
		}
	}
	for i, c := range calls {
		answered(t, c, i) // the guilty one's lock holds up one single flight; the others pass it by
	}
	h.held <- ErrBatch
	failed(t, guilty, ErrBatch)
	suspectFliesAlone(t, h, g)
}

// suspectFliesAlone: a key that failed alone is kept out of batches, until it works again.
func suspectFliesAlone(t *testing.T, h *hangar, g *group[item, int]) {
	t.Helper()
	again := g.join(item{"guilty", 2})
	other := g.join(item{"innocent", 3})
	if a, b := <-h.up, <-h.up; len(a) != 1 || len(b) != 1 {
		t.Fatalf("flown together: %v %v", a, b)
	}
	h.held <- nil
	h.clear <- nil
	answered(t, again, 2)
	answered(t, other, 3)
	g.mu.Lock()
	if len(g.guilty) != 0 {
		t.Error("still a suspect")
	}
	g.mu.Unlock()
	idle(t, g)
}

func TestARowsFaultIsNeverThatOfItsBatch(t *testing.T) {
	h := newHangar()
	g := testGroup(h, nil)
	first := g.join(item{"warm", 0})
	<-h.up
	one, two := g.join(item{"a", 1}), g.join(item{"b", 2})
	h.clear <- nil
	answered(t, first, 0)
	<-h.up
	h.clear <- ErrRow // of a store that does not tell which one
	<-h.up
	<-h.up
	h.clear <- nil
	h.clear <- nil
	answered(t, one, 1)
	answered(t, two, 2)
	idle(t, g)
}

func TestSuspicionEnds(t *testing.T) {
	h := newHangar()
	g := testGroup(h, func(c *groupConfig[item, int]) { c.suspect = time.Nanosecond })
	c := g.join(item{"guilty", 1})
	<-h.up
	h.held <- ErrBatch
	failed(t, c, ErrBatch)
	deadline := time.Now().Add(10 * time.Second)
	for {
		g.mu.Lock()
		l := g.laneFor(itemKey(item{"guilty", 0}))
		g.mu.Unlock()
		if l == &g.batches {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a suspect for ever")
		}
	}
}

func TestAPanicIsAnErrorForItsCallers(t *testing.T) {
	h := newHangar()
	panics := true
	g := testGroup(h, func(c *groupConfig[item, int]) {
		c.fly = func(ctx context.Context, items []item) ([]int, error) {
			if panics {
				panics = false
				panic("oops")
			}
			return h.fly(ctx, items)
		}
	})
	_, err := g.do(t.Context(), item{"a", 1})
	var panicked *PanicError
	if !errors.As(err, &panicked) || panicked.Value != "oops" || len(panicked.Stack) == 0 {
		t.Fatalf("error %v", err)
	}
	h.clear <- nil
	if got, err := g.do(t.Context(), item{"a", 2}); got != 2 || err != nil {
		t.Fatalf("the group is dead: %d, %v", got, err)
	}
}

func TestAStoreThatMiscountsIsAnError(t *testing.T) {
	g := testGroup(newHangar(), func(c *groupConfig[item, int]) {
		c.fly = func(context.Context, []item) ([]int, error) { return nil, nil }
	})
	if got, err := g.do(t.Context(), item{"a", 1}); err == nil {
		t.Fatalf("answered %d", got)
	}
}

func TestAFlightHasADeadline(t *testing.T) {
	g := testGroup(newHangar(), func(c *groupConfig[item, int]) {
		c.timeout = time.Millisecond
		c.fly = func(ctx context.Context, _ []item) ([]int, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	if _, err := g.do(context.Background(), item{"a", 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestEveryCallIsAnsweredOnceUnderLoad(t *testing.T) {
	var flown sync.Map
	g := testGroup(newHangar(), func(c *groupConfig[item, int]) {
		c.flights, c.batch = 3, 16
		c.fly = func(_ context.Context, items []item) ([]int, error) {
			answers := make([]int, len(items))
			for i := range items {
				if i > 0 && itemKey(items[i-1]).compare(itemKey(items[i])) >= 0 {
					return nil, errors.New("not sorted")
				}
				if _, busy := flown.LoadOrStore(items[i].key, true); busy {
					return nil, errors.New("a key in two flights")
				}
				answers[i] = items[i].number
			}
			for i := range items {
				flown.Delete(items[i].key)
			}
			if len(items)%5 == 4 {
				return nil, ErrBatch
			}
			return answers, nil
		}
	})
	var running sync.WaitGroup
	for worker := range 16 {
		running.Go(func() {
			for i := range 300 {
				number := worker*1000 + i
				if got, err := g.do(t.Context(), item{fmt.Sprint(number % 37), number}); err != nil || got != number {
					t.Errorf("%d is answered %d, %v", number, got, err)
				}
			}
		})
	}
	running.Wait()
	idle(t, g)
}

// BenchmarkGroup is the price of grouping itself, for a store that answers at once, and for one that takes as long as a
// commit does.
func BenchmarkGroup(b *testing.B) {
	for name, commit := range map[string]time.Duration{"at once": 0, "after 500us": 500 * time.Microsecond} {
		b.Run(name, func(b *testing.B) { benchmarkGroup(b, commit) })
	}
}

func benchmarkGroup(b *testing.B, commit time.Duration) {
	var flights atomic.Int64
	g := newGroup(groupConfig[NewRow, Found]{
		key: func(row NewRow) Key { return row.Key },
		fly: func(_ context.Context, rows []NewRow) ([]Found, error) {
			flights.Add(1)
			<-time.After(commit)
			return make([]Found, len(rows)), nil
		},
		flights: 2, batch: 256, singles: 4, timeout: time.Minute, suspect: time.Second,
	})
	var worker atomic.Int64
	b.SetParallelism(256)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		row := NewRow{Key: Key{Scope: "acme/payments"}}
		prefix := fmt.Sprint(worker.Add(1), "_")
		for n := 0; pb.Next(); n++ {
			row.EventID = delivery.EventID(fmt.Appendf(nil, "%s%d", prefix, n))
			if _, err := g.do(context.Background(), row); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(max(1, flights.Load())), "rows/flight")
}

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// shop is a ledger and an application in one: jobs wait by scope, and what happens to them is remembered. Its clock is the
// bubble's.
type shop struct {
	mu      sync.Mutex
	waiting map[delivery.Scope][]string
	held    []delivery.Scope
	away    error
	looks   []time.Time
	quotas  []dedupe.Quota
	settled map[string]dedupe.Settlement
	seen    []upstream.Attempt
	answer  func(a upstream.Attempt) delivery.Result
	lost    bool
}

func newShop() *shop {
	return &shop{
		waiting: map[delivery.Scope][]string{}, settled: map[string]dedupe.Settlement{},
		answer: func(upstream.Attempt) delivery.Result { return answered(200) },
	}
}

func answered(status int) delivery.Result {
	return delivery.Result{Outcome: delivery.Answered, Response: delivery.Response{Status: status}}
}

func (s *shop) put(scope delivery.Scope, events ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[scope] = append(s.waiting[scope], events...)
}

func (s *shop) Take(_ context.Context, quotas []dedupe.Quota, most int) (dedupe.Taken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks, s.quotas = append(s.looks, time.Now()), quotas
	taken := dedupe.Taken{Held: s.held}
	if s.away != nil {
		return taken, s.away
	}
	for _, quota := range quotas {
		if slices.Contains(s.held, quota.Scope) {
			continue
		}
		events := s.waiting[quota.Scope]
		n := max(0, min(quota.Most, len(events), most-len(taken.Works)))
		for _, event := range events[:n] {
			taken.Works = append(taken.Works, dedupe.Work{
				Claim: dedupe.Claim{Scope: quota.Scope, EventID: delivery.EventID(event), Attempt: 1},
				Job:   &dedupe.Job{Method: "POST", Target: "/hook?a=1", Host: "h", Body: []byte(event)}, Policy: quota.Policy.Worked(),
				EventType: "order.paid", Taken: time.Now(),
			})
		}
		s.waiting[quota.Scope] = events[n:]
		taken.More = taken.More || n > 0 && len(events) > n
	}
	return taken, nil
}

func (s *shop) Settle(_ context.Context, c dedupe.Claim, t dedupe.Settlement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return dedupe.ErrClaimLost
	}
	s.settled[string(c.EventID)] = t
	return nil
}

func (s *shop) Forward(ctx context.Context, a upstream.Attempt) delivery.Result {
	s.mu.Lock()
	s.seen = append(s.seen, a)
	answer := s.answer
	s.mu.Unlock()
	return answer(a)
}

func (s *shop) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.settled)
}

// records are what a Watch is told.
type records struct {
	mu     sync.Mutex
	done   []worker.Record
	stages []worker.Stage // that have ended
}

func (r *records) Begin(string) context.Context { return context.Background() }
func (r *records) TraceParent(ctx context.Context) string {
	stage, _ := ctx.Value(stageKey{}).(worker.Stage)
	return "00-trace-" + string(stage)
}

type stageKey struct{}

func (r *records) Stage(ctx context.Context, s worker.Stage) (context.Context, func()) {
	return context.WithValue(ctx, stageKey{}, s), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stages = append(r.stages, s)
	}
}
func (r *records) Done(_ context.Context, record worker.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, record)
}

func (r *records) outcomes() []worker.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	var outcomes []worker.Outcome
	for _, record := range r.done {
		outcomes = append(outcomes, record.Outcome)
	}
	return outcomes
}

func routeOf(scope delivery.Scope) worker.Route {
	return worker.Route{
		Scope: scope, Timeout: 20 * time.Second, KeyHeader: "Idempotency-Key",
		Policy: dedupe.Policy{Lease: 30 * time.Second, OnFailure: dedupe.Queue, Backoff: dedupe.Backoff{Jitter: func() float64 { return 1 }}},
	}
}

// started runs a dispatcher in a bubble; stop ends it softly and waits.
func started(t *testing.T, s *shop, watch worker.Watch, routes ...worker.Route) (d *worker.Dispatcher, stop func()) {
	t.Helper()
	d, err := worker.NewDispatcher(worker.Config{
		Ledger: s, Application: s, Watch: watch, Slots: 16, Routes: func() []worker.Route { return routes },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := d.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	synctest.Wait()
	return d, func() { cancel(); <-ended }
}

func TestAJobIsHandedOverAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, watch := newShop(), &records{}
		scoped := routeOf("acme/orders")
		scoped.KeyScoped = true
		scoped.Policy.Record.MaxBody = 4 << 10
		s.put("acme/orders", "evt-1")
		_, stop := started(t, s, watch, scoped)
		stop()
		if len(s.seen) != 1 {
			t.Fatalf("%d attempts", len(s.seen))
		}
		a := s.seen[0]
		if a.Delivery.Method != "POST" || a.Delivery.Target != "/hook?a=1" || string(a.Delivery.Body) != "evt-1" || a.Number != 1 ||
			a.KeyHeader != "Idempotency-Key" || a.KeyValue != "acme/orders/evt-1" || a.TraceParent != "00-trace-forward" ||
			a.EventType != "order.paid" || a.Timeout != 20*time.Second || a.MaxResponse != 4<<10 {
			t.Errorf("the attempt is %+v", a)
		}
		if s.settled["evt-1"].To != dedupe.Applied || !slices.Equal(watch.outcomes(), []worker.Outcome{worker.OutcomeApplied}) {
			t.Errorf("settled %+v, told %v", s.settled, watch.outcomes())
		}
		if !slices.Equal(watch.stages, []worker.Stage{worker.StageForward, worker.StageSettle}) {
			t.Errorf("arrows %v", watch.stages)
		}
	})
}

func TestAnIdleDispatcherLooksEvery1700ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		_, stop := started(t, s, nil, routeOf("acme/orders"))
		pass(17 * time.Second)
		stop()
		if len(s.looks) < 10 || len(s.looks) > 12 {
			t.Errorf("%d looks in 17 s", len(s.looks))
		}
	})
}

func TestAWakeIsFollowedAtOnceButNotByEveryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		d, stop := started(t, s, nil, routeOf("acme/orders"))
		pass(500 * time.Millisecond)
		began := time.Now()
		for i := range 1000 {
			s.put("acme/orders", fmt.Sprint("evt-", i))
			d.Wake()
			pass(time.Millisecond)
		}
		pass(time.Second)
		stop()
		if waited := s.looks[1].Sub(began); waited > 20*time.Millisecond {
			t.Errorf("the first was looked for after %s", waited)
		}
		if looks := len(s.looks); looks > 500 { // one every 20 ms, and those that an attempt's end hurries
			t.Errorf("%d looks for a thousand events in a second", looks)
		}
		if s.count() != 1000 {
			t.Errorf("%d of 1000 are done", s.count())
		}
	})
}

func TestABacklogIsDrainedWithoutPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.answer = func(upstream.Attempt) delivery.Result { pass(10 * time.Millisecond); return answered(200) }
		for i := range 400 {
			s.put("acme/orders", fmt.Sprint("evt-", i))
		}
		began := time.Now()
		_, stop := started(t, s, nil, routeOf("acme/orders"))
		for s.count() < 400 {
			pass(10 * time.Millisecond)
			if time.Since(began) > 5*time.Second {
				t.Fatalf("%d of 400 after %s", s.count(), time.Since(began))
			}
		}
		stop()
	})
}

func TestConcurrencyIsAScopesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		var mu sync.Mutex
		running, most := map[delivery.Scope]int{}, map[delivery.Scope]int{}
		s.answer = func(a upstream.Attempt) delivery.Result {
			mu.Lock()
			running[a.Scope]++
			most[a.Scope] = max(most[a.Scope], running[a.Scope])
			mu.Unlock()
			pass(time.Second)
			mu.Lock()
			running[a.Scope]--
			mu.Unlock()
			return answered(200)
		}
		for i := range 12 {
			s.put("acme/one", fmt.Sprint("one-", i))
			s.put("acme/free", fmt.Sprint("free-", i))
		}
		one := routeOf("acme/one")
		one.Concurrency = 2
		_, stop := started(t, s, nil, one, routeOf("acme/free"))
		pass(20 * time.Second)
		stop()
		if most["acme/one"] != 2 || most["acme/free"] < 4 || s.count() != 24 {
			t.Errorf("at once %v, done %d", most, s.count())
		}
	})
}

// However many events a dead application has waiting, another account's find a free hand.
func TestADeadScopeLeavesHandsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.answer = func(a upstream.Attempt) delivery.Result {
			if a.Scope == "acme/calm" {
				return answered(200)
			}
			pass(a.Timeout)
			return delivery.Result{Outcome: delivery.Unknown, Cause: delivery.TimedOut}
		}
		routes := []worker.Route{routeOf("acme/calm")}
		for n := range 3 {
			scope := delivery.Scope(fmt.Sprint("dead/", n))
			routes = append(routes, routeOf(scope))
			for i := range 500 {
				s.put(scope, fmt.Sprintf("dead-%d-%d", n, i))
			}
		}
		d, stop := started(t, s, nil, routes...)
		defer stop()
		for i := range 50 {
			pass(time.Second)
			event := fmt.Sprint("calm-", i)
			s.put("acme/calm", event)
			d.Wake()
			pass(100 * time.Millisecond)
			s.mu.Lock()
			_, done := s.settled[event]
			s.mu.Unlock()
			if !done {
				t.Fatalf("%s waits", event)
			}
		}
		d.Stop()
	})
}

func TestHeldScopesAreNotLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.held = []delivery.Scope{"acme/held"}
		s.put("acme/held", "evt-1")
		file := routeOf("acme/file")
		file.Hold = true
		s.put("acme/file", "evt-2")
		d, stop := started(t, s, nil, routeOf("acme/held"), file)
		waking := worker.Waking{Ledger: acknowledging{}, Dispatcher: d}
		pass(2 * time.Second)
		if !d.Held("acme/held") || d.Held("acme/file") {
			t.Error("the dispatcher does not know who is held by a person")
		}
		s.mu.Lock()
		before := len(s.looks)
		s.mu.Unlock()
		for range 100 { // an acceptance wakes nobody who would leave the job alone
			if _, err := waking.Claim(t.Context(), dedupe.Request{Scope: "acme/held"}); err != nil {
				t.Fatal(err)
			}
			pass(time.Millisecond)
		}
		s.mu.Lock()
		if looks := len(s.looks) - before; looks > 1 {
			t.Errorf("%d looks for what is held", looks)
		}
		s.held = nil
		s.mu.Unlock()
		pass(2 * time.Second)
		stop()
		if _, done := s.settled["evt-1"]; !done || s.count() != 1 {
			t.Errorf("settled %v", s.settled)
		}
	})
}

// acknowledging is a ledger that stores everything it is asked to claim.
type acknowledging struct{ dedupe.Ledger }

func (acknowledging) Claim(context.Context, dedupe.Request) (dedupe.Decision, error) {
	return dedupe.Decision{Kind: dedupe.AlreadyQueued, First: true}, nil
}

func TestAcceptanceWakesTheDispatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		d, stop := started(t, s, nil, routeOf("acme/orders"))
		defer stop()
		waking := worker.Waking{Ledger: acknowledging{}, Dispatcher: d}
		pass(time.Second)
		s.put("acme/orders", "evt-1")
		if _, err := waking.Claim(t.Context(), dedupe.Request{Scope: "acme/orders"}); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Millisecond)
		if s.count() != 1 {
			t.Error("the job waits for the next look")
		}
	})
}

func TestASoftStopFinishesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, watch := newShop(), &records{}
		s.answer = func(upstream.Attempt) delivery.Result { pass(5 * time.Second); return answered(200) }
		s.put("acme/orders", "evt-1")
		d, stop := started(t, s, watch, routeOf("acme/orders"))
		s.put("acme/orders", "evt-2")
		stop()
		d.Wake()
		if s.settled["evt-1"].To != dedupe.Applied || s.count() != 1 {
			t.Errorf("settled %+v", s.settled)
		}
	})
}

func TestAHardStopBreaksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, watch := newShop(), &records{}
		broken := make(chan struct{})
		s.answer = func(upstream.Attempt) delivery.Result {
			<-broken
			return delivery.Result{Outcome: delivery.Unknown, Cause: delivery.Incomplete}
		}
		s.put("acme/orders", "evt-1")
		d, stop := started(t, s, watch, routeOf("acme/orders"))
		d.Stop()
		close(broken)
		stop()
		got := s.settled["evt-1"]
		if got.To != dedupe.Queued || got.Reason != dedupe.Incomplete || !got.Counts {
			t.Errorf("settled %+v", got)
		}
	})
}

func TestALedgerAwayIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.away = errors.New("connection refused")
		d, stop := started(t, s, nil, routeOf("acme/orders"))
		for range 1000 {
			d.Wake()
			pass(10 * time.Millisecond)
		}
		stop()
		if len(s.looks) > 12 {
			t.Errorf("%d looks in 10 s at a ledger that is away", len(s.looks))
		}
	})
}

func TestALostClaimIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, watch := newShop(), &records{}
		s.lost = true
		s.put("acme/orders", "evt-1")
		_, stop := started(t, s, watch, routeOf("acme/orders"))
		stop()
		if !slices.Equal(watch.outcomes(), []worker.Outcome{worker.OutcomeLost}) {
			t.Errorf("told %v", watch.outcomes())
		}
	})
}

// A claim that took its time leaves less for the attempt; one that took all leaves none, and the application is not
// bothered.
func TestAnAttemptNeverOutlivesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		short := routeOf("acme/orders")
		short.Policy.Lease = 200 * time.Millisecond
		s.put("acme/orders", "evt-1")
		_, stop := started(t, s, nil, short)
		stop()
		if got := s.settled["evt-1"]; len(s.seen) != 0 || got.To != dedupe.Queued || got.Counts {
			t.Errorf("settled %+v after %d attempts", got, len(s.seen))
		}
	})
}

func TestADispatcherNeedsItsRooms(t *testing.T) {
	if _, err := worker.NewDispatcher(worker.Config{}); err == nil {
		t.Error("a dispatcher of nothing")
	}
}

// pass lets time pass, which in a bubble takes none.
func pass(d time.Duration) { <-time.After(d) }

package worker_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/dedupe/sqlite"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/worker"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// fill gives a scope so many jobs.
func (s *shop) fill(scope delivery.Scope, jobs int) {
	for i := range jobs {
		s.put(scope, fmt.Sprintf("%s-%d", scope, i))
	}
}

func (s *shop) left(scope delivery.Scope) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting[scope])
}

// Whoever comes first in the file has no more than its share of the hands, also where they become free one by one.
func TestAFloodGetsItsShareOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		var mu sync.Mutex
		running, begun := map[delivery.Scope]int{}, 0
		s.answer = func(a upstream.Attempt) delivery.Result {
			mu.Lock()
			running[a.Scope]++
			begun++
			lasts := time.Second + time.Duration(begun%29)*30*time.Millisecond // no two end at once
			mu.Unlock()
			pass(lasts)
			mu.Lock()
			running[a.Scope]--
			mu.Unlock()
			return answered(200)
		}
		scopes := []delivery.Scope{"flood/first", "calm/b", "calm/c"}
		s.fill(scopes[0], 1000)
		d, stop := started(t, s, nil, routeOf(scopes[0]), routeOf(scopes[1]), routeOf(scopes[2]))
		pass(20 * time.Second) // the flood has every hand that it may have
		s.fill(scopes[1], 100)
		s.fill(scopes[2], 100)
		d.Wake()
		for second := range 20 {
			pass(time.Second)
			mu.Lock()
			if second > 5 && (running[scopes[1]] < 3 || running[scopes[2]] < 3) {
				t.Errorf("after %d s of 12 hands are at work: %v", second, running)
			}
			mu.Unlock()
		}
		if s.left(scopes[1]) == 0 || s.left(scopes[2]) == 0 {
			t.Error("the test has too few jobs")
		}
		stop()
	})
}

// Where one hand is left to share, scopes whose attempts are short take turns, too.
func TestTheLastHandGoesAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		over := make(chan struct{})
		s.answer = func(a upstream.Attempt) delivery.Result {
			if a.Scope == "slow/a" || a.Scope == "slow/b" {
				<-over
			}
			pass(time.Millisecond)
			return answered(200)
		}
		s.fill("slow/a", 6)
		s.fill("slow/b", 5) // 11 of the 12 hands that are for everybody
		d, stop := started(t, s, nil, routeOf("slow/a"), routeOf("slow/b"), routeOf("flood/c"), routeOf("calm/d"))
		for s.left("slow/a")+s.left("slow/b") > 0 {
			pass(time.Second)
		}
		s.fill("flood/c", 2000)
		s.fill("calm/d", 100)
		d.Wake()
		for s.left("calm/d") > 0 && s.left("flood/c") > 0 {
			pass(100 * time.Millisecond)
		}
		if left := s.left("calm/d"); left > 0 {
			t.Errorf("the flood is over, and %d jobs of the calm scope wait", left)
		}
		close(over)
		stop()
	})
}

// store is a ledger of its own with jobs in it, that counts looks, and the application behind it, that holds each body
// until two more looks are over.
type store struct {
	*dedupe.Keeper
	mu    sync.Mutex
	looks int
	more  chan struct{} // closed by the next look
	held  int64
	most  int64
	done  int
}

func newStore(t *testing.T) *store {
	t.Helper()
	rows, err := sqlite.Open(t.Context(), t.TempDir()+"/ledger.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rows.Close() })
	keeper, err := dedupe.NewKeeper(dedupe.KeeperConfig{Store: rows, Replica: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return &store{Keeper: keeper, more: make(chan struct{})}
}

// accept stores a job with a body of so many bytes.
func (s *store) accept(t *testing.T, scope delivery.Scope, event string, size int) {
	t.Helper()
	_, err := s.Claim(t.Context(), dedupe.Request{
		Scope: scope, EventID: delivery.EventID(event), Fingerprint: sha256.Sum256([]byte(event)), Policy: routeOf(scope).Policy,
		Accept: true,
		Job: func() *dedupe.Job {
			return &dedupe.Job{Method: "POST", Target: "/", Header: map[string][]string{}, Body: make([]byte, size)}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *store) Take(ctx context.Context, quotas []dedupe.Quota, most int) (dedupe.Taken, error) {
	taken, err := s.Keeper.Take(ctx, quotas, most)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range taken.Works {
		s.held += int64(len(taken.Works[i].Job.Body))
	}
	s.most = max(s.most, s.held)
	s.looks++
	close(s.more)
	s.more = make(chan struct{})
	return taken, err
}

func (s *store) Forward(_ context.Context, a upstream.Attempt) delivery.Result {
	for range 2 {
		s.mu.Lock()
		more := s.more
		s.mu.Unlock()
		<-more
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= int64(len(a.Delivery.Body))
	s.done++
	return answered(200)
}

func (s *store) counts() (done int, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done, s.most
}

// run works everything off that was accepted, with bodies of so many bytes at most.
func (s *store) run(t *testing.T, bytes int64, jobs int, routes ...worker.Route) {
	t.Helper()
	d, err := worker.NewDispatcher(worker.Config{
		Ledger: s, Application: s, Bytes: bytes, Every: 10 * time.Millisecond, Routes: func() []worker.Route { return routes },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := d.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for done, _ := s.counts(); done < jobs && ctx.Err() == nil; done, _ = s.counts() {
		<-tick.C
	}
	if ctx.Err() != nil {
		done, _ := s.counts()
		t.Errorf("%d of %d jobs are done", done, jobs)
		d.Stop()
	}
	cancel()
	<-ended
}

// A new process, which knows nothing of the bodies, takes no more of them than it has room for, however many scopes have
// some, and all of them in the end.
func TestBodiesFitIntoTheirRoom(t *testing.T) {
	const size, bytes = 25 << 10, 64 << 10
	s := newStore(t)
	var routes []worker.Route
	for n := range 4 {
		route := routeOf(delivery.Scope(fmt.Sprintf("acme/%d", n)))
		route.MaxBody = size
		for i := range 4 {
			s.accept(t, route.Scope, fmt.Sprintf("evt-%d", i), size)
		}
		routes = append(routes, route)
	}
	s.run(t, bytes, 16, routes...)
	if _, most := s.counts(); most > bytes || most < 2*size {
		t.Errorf("%d bytes were held at once, and there is room for %d", most, bytes)
	}
}

// However many bodies a scope has waiting, it leaves the last quarter of the room to scopes that have none at work.
func TestAFloodOfBodiesLeavesRoom(t *testing.T) {
	const size, bytes = 16 << 10, 64 << 10
	s := newStore(t)
	route := routeOf("acme/orders")
	route.MaxBody = size
	for i := range 12 {
		s.accept(t, route.Scope, fmt.Sprintf("evt-%d", i), size)
	}
	s.run(t, bytes, 12, route)
	if _, most := s.counts(); most != bytes*3/4 {
		t.Errorf("%d bytes of %d were held at once", most, bytes)
	}
}

// The largest bodies that there may be pass one by one where nothing else fits.
func TestTheLargestBodyPasses(t *testing.T) {
	s := newStore(t)
	route := routeOf("acme/orders")
	route.MaxBody = 1 << 20
	for i := range 3 {
		s.accept(t, route.Scope, fmt.Sprintf("evt-%d", i), 100<<10)
	}
	s.run(t, 64<<10, 3, route)
	if _, most := s.counts(); most != 100<<10 {
		t.Errorf("%d bytes were held at once", most)
	}
}

// What a route allows keeps small bodies waiting for the first few attempts only.
func TestSmallBodiesAreSoonKnownToBeSmall(t *testing.T) {
	const large, most = 25 << 20, 64 << 20
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.answer = func(upstream.Attempt) delivery.Result { pass(100 * time.Millisecond); return answered(200) }
		route := routeOf("acme/orders")
		route.MaxBody = large
		s.fill(route.Scope, 100)
		began := time.Now()
		_, stop := started(t, s, nil, route)
		s.mu.Lock()
		if first := s.quotas[0]; first.Size != large || first.Most < 1 || first.Free > most {
			t.Errorf("the first quota is %+v", first)
		}
		s.mu.Unlock()
		for s.count() < 20 {
			pass(10 * time.Millisecond)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the first 20 took %s", took)
		}
		for s.count() < 100 {
			pass(10 * time.Millisecond)
		}
		s.mu.Lock()
		if last := s.quotas[0]; last.Size > most/16 {
			t.Errorf("the last quota is %+v", last)
		}
		s.mu.Unlock()
		stop()
	})
}

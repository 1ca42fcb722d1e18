package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// accepting is accept mode with short pauses; more lines are added.
func accepting(lines ...string) []string {
	return append([]string{"mode: accept", `accept: {status: 202, body: "stored", content_type: text/plain}`,
		"retry: {max_attempts: 3, initial: 50ms, max: 100ms}"}, lines...)
}

// acceptingShort is accepting where an attempt may time out or a lease run out.
func acceptingShort(lines ...string) []string { return short(accepting(lines...)...) }

// receipt is what the command tells of an event.
type receipt struct {
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Attempts int    `json:"attempts"`
	Request  string `json:"request"`
}

func receiptOf(t *testing.T, s *sidecar, event string) (receipt, error) {
	t.Helper()
	page, err := fetch("http://" + s.admin + "/api/v1/receipts/acme/orders/" + event)
	var found receipt
	if err == nil {
		err = json.Unmarshal([]byte(page), &found)
	}
	return found, err
}

// becomes waits until an event has a state and a reason.
func becomes(t *testing.T, s *sidecar, event, state, reason string) {
	t.Helper()
	await(t, event, func() error {
		got, err := receiptOf(t, s, event)
		if err == nil && (got.State != state || got.Reason != reason) {
			err = fmt.Errorf("it is %s (%s), want %s (%s)", got.State, got.Reason, state, reason)
		}
		return err
	})
}

func failing(times, status int) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, run int) {
		if run <= times {
			w.WriteHeader(status)
			return
		}
		fmt.Fprintf(w, "run %d", run)
	}
}

func TestAcceptedEventIsWorkedOffOnce(t *testing.T) {
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app, accepting()...)
	began := time.Now()
	expect(t, first, "evt-1", "202 queued stored")
	app.await(t, "evt-1")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it was picked up after %s", took)
	}
	becomes(t, second, "evt-1", "applied", "")
	expect(t, second, "evt-1", "200 replayed evt-1 run 1")
	wantAttempts(t, app, "evt-1", "1")
}

// Nothing is lost with the process that acknowledged: the job is in the ledger first.
func TestAcknowledgedIsDurable(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"PostgreSQL": func(t *testing.T) string { return testenv.Postgres(t) },
		"SQLite":     func(t *testing.T) string { return "sqlite:" + t.TempDir() + "/ledger.db" },
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(t)
			env := map[string]string{"DATABASE_URL": database(t), "SIDECAR_UPSTREAM": "http://" + app.address}
			held := newSidecar(t, integration(t, accepting("paused: true")...), env).start(t)
			for i := range 20 {
				expect(t, held, fmt.Sprintf("evt-%d", i), "202 queued stored")
			}
			held.kill()
			if got := app.attempts("evt-0"); len(got) != 0 {
				t.Fatalf("a paused integration ran: %v", got)
			}
			next := newSidecar(t, integration(t, accepting()...), env).start(t)
			for i := range 20 {
				event := fmt.Sprintf("evt-%d", i)
				becomes(t, next, event, "applied", "")
				wantAttempts(t, app, event, "1")
			}
		})
	}
}

func TestDuplicatesOfAnAcceptedEventAreAcknowledged(t *testing.T) {
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app, accepting()...)
	release := make(chan struct{})
	app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
		<-release
		fmt.Fprintf(w, "run %d", run)
	})
	var sent sync.WaitGroup
	for i := range 20 {
		sent.Go(func() { expect(t, []*sidecar{first, second}[i%2], "evt-1", "202 queued stored") })
	}
	sent.Wait()
	app.await(t, "evt-1")
	expect(t, second, "evt-1", "202 queued stored") // while it runs
	other := strings.Replace(payload("evt-1"), "1250", "9", 1)
	if got, err := try(first, other, true); err != nil || got.String() != "422 conflict event_conflict" {
		t.Errorf("other content: %s, %v", got, err)
	}
	close(release)
	becomes(t, first, "evt-1", "applied", "")
	wantAttempts(t, app, "evt-1", "1")
}

func TestFailuresAreRetriedThenDead(t *testing.T) {
	app := newApplication(t)
	s, other := replicas(t, testenv.Postgres(t), app, accepting()...)
	app.on("evt-late", failing(2, 503))
	app.on("evt-never", failing(3, 500))
	app.on("evt-refused", failing(1, 422))
	for _, event := range []string{"evt-late", "evt-never", "evt-refused"} {
		expect(t, s, event, "202 queued stored")
	}
	becomes(t, s, "evt-late", "applied", "")
	wantAttempts(t, app, "evt-late", "1", "2", "3")
	becomes(t, s, "evt-never", "dead", "max_attempts")
	wantAttempts(t, app, "evt-never", "1", "2", "3")
	becomes(t, s, "evt-refused", "dead", "rejected")
	wantAttempts(t, app, "evt-refused", "1")
	expect(t, other, "evt-refused", "202 dead stored")

	exit, out := s.run(t, "dead-letters", "list", "acme/orders", "--json")
	if exit != 0 || !strings.Contains(out, "evt-never") || !strings.Contains(out, "evt-refused") || !strings.Contains(out, "rejected") {
		t.Errorf("dead-letters list: exit %d\n%s", exit, out)
	}
	// Two people replay the same event at once: it runs once, as the next attempt.
	exits := make([]int, 2)
	var acting sync.WaitGroup
	for i := range exits {
		acting.Go(func() {
			exits[i], _ = s.run(t, "dead-letters", "replay", "acme/orders", "evt-refused", "--actor", "ada", "--reason", "repaired")
		})
	}
	acting.Wait()
	if slices.Sort(exits); exits[0] != 0 || exits[1] != 1 {
		t.Errorf("exit statuses %v, want one to succeed", exits)
	}
	becomes(t, s, "evt-refused", "applied", "")
	wantAttempts(t, app, "evt-refused", "1", "2")
	expect(t, other, "evt-refused", "200 replayed run 2")
	if exit, out := s.run(t, "dead-letters", "close", "acme/orders", "evt-never", "--answer", "410", "--actor", "ada", "--reason", "gone"); exit != 0 {
		t.Errorf("close: exit %d\n%s", exit, out)
	}
	expect(t, other, "evt-never", "410 closed ")
}

// A delivery in forward mode that fails leaves a job behind, and the sender need not come back.
func TestForwardWithANet(t *testing.T) {
	app := newApplication(t)
	s, _ := replicas(t, testenv.Postgres(t), app, short("on_failure: queue", `accept: {body: "stored"}`,
		"retry: {max_attempts: 5, initial: 50ms, max: 100ms}")...)
	app.on("evt-fails", failing(1, 503))
	app.on("evt-hangs", func(w http.ResponseWriter, r *http.Request, run int) {
		if run == 1 {
			<-r.Context().Done()
		}
		fmt.Fprintf(w, "run %d", run)
	})
	expect(t, s, "evt-works", "200 applied evt-works run 1")
	expect(t, s, "evt-fails", "202 queued stored")
	expect(t, s, "evt-hangs", "202 queued stored")
	settles(t, s, "evt-fails", "200 replayed run 2")
	settles(t, s, "evt-hangs", "200 replayed run 2")
	wantAttempts(t, app, "evt-fails", "1", "2")
	wantAttempts(t, app, "evt-hangs", "1", "2")
	app.Close() // nobody listens any more
	expect(t, s, "evt-away", "202 queued stored")
	becomes(t, s, "evt-away", "queued", "unreachable")
}

// on_failure: queue is no net for a crash: whoever is killed during the call leaves no job, and the sender's next delivery is
// the next attempt.
func TestACrashDuringTheCallLeavesNoJob(t *testing.T) {
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app, short("on_failure: queue")...)
	app.on("evt-1", func(w http.ResponseWriter, r *http.Request, run int) {
		if run == 1 {
			<-r.Context().Done()
		}
		fmt.Fprintf(w, "run %d", run)
	})
	go try(first, payload("evt-1"), true)
	app.await(t, "evt-1")
	first.kill()
	becomes(t, second, "evt-1", "retryable", "lease_expired")
	if got, err := receiptOf(t, second, "evt-1"); err != nil || got.Request != "none" {
		t.Errorf("the receipt is %+v, %v", got, err)
	}
	wantAttempts(t, app, "evt-1", "1")
	expect(t, second, "evt-1", "200 applied run 2")
	wantAttempts(t, app, "evt-1", "1", "2")
}

// Nobody is told that an event is stored whose bytes went with the process: where such a crash makes it dead, its sender is
// not acknowledged, and a replay leaves it to the sender's next delivery. A delivery that itself makes an event dead leaves
// its bytes behind, and so does one in accept mode, whatever became of the event before.
func TestOnlyAKeptRequestIsAcknowledged(t *testing.T) {
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app, short("on_failure: queue", "in_doubt: quarantine", `accept: {body: "stored"}`)...)
	deaf := func(_ http.ResponseWriter, r *http.Request, run int) {
		if run == 1 {
			<-r.Context().Done()
		}
	}
	for _, event := range []string{"evt-lost", "evt-back"} {
		app.on(event, deaf)
		go try(first, payload(event), true)
		app.await(t, event)
	}
	first.kill()
	becomes(t, second, "evt-lost", "dead", "quarantined")
	becomes(t, second, "evt-back", "dead", "quarantined")
	app.on("evt-slow", deaf)
	expect(t, second, "evt-slow", "504 dead upstream_timeout")
	for event, want := range map[string]struct{ request, answer string }{
		"evt-lost": {"none", "503 dead dead_letter"},
		"evt-back": {"none", "503 dead dead_letter"},
		"evt-slow": {"kept", "202 dead stored"},
	} {
		if got, err := receiptOf(t, second, event); err != nil || got.Request != want.request {
			t.Errorf("the receipt is %+v, %v, want request %s", got, err, want.request)
		}
		expect(t, second, event, want.answer)
		wantAttempts(t, app, event, "1")
	}
	replay := func(event string) {
		t.Helper()
		if exit, out := second.run(t, "dead-letters", "replay", "acme/orders", event, "--actor", "ada", "--reason", "it did not"); exit != 0 {
			t.Fatalf("replay: exit %d\n%s", exit, out)
		}
	}
	replay("evt-lost")
	becomes(t, second, "evt-lost", "retryable", "replayed")
	expect(t, second, "evt-lost", "200 applied ")
	wantAttempts(t, app, "evt-lost", "1", "2")

	write(t, second.env["SIDECAR_CONFIG"], integration(t, acceptingShort("in_doubt: quarantine")...))
	settles(t, second, "evt-back", "202 dead stored")
	if got, err := receiptOf(t, second, "evt-back"); err != nil || got.State != "dead" || got.Reason != "quarantined" || got.Request != "kept" {
		t.Errorf("the receipt is %+v, %v", got, err)
	}
	replay("evt-back")
	becomes(t, second, "evt-back", "applied", "")
	wantAttempts(t, app, "evt-back", "1", "2")
}

// The ways in which a worker's process can end between two arrows, each with its one documented outcome. The process that
// accepts holds its own jobs until the other one is dead.
func TestKillTheWorkerBetweenArrows(t *testing.T) {
	t.Run("before the claim is in the ledger", func(t *testing.T) {
		app, tap, first, second := tappedWorker(t)
		tap.Blackhole()
		expect(t, second, "evt-1", "202 queued stored")
		first.kill()
		tap.Cut()
		workOn(t, second)
		becomes(t, second, "evt-1", "applied", "")
		wantAttempts(t, app, "evt-1", "1")
	})
	t.Run("after the claim, before the attempt", func(t *testing.T) {
		app, tap, first, second := tappedWorker(t)
		tap.SwallowRepliesTo([]byte("evt-1"))
		expect(t, second, "evt-1", "202 queued stored")
		becomes(t, second, "evt-1", "claimed", "")
		first.kill()
		expect(t, second, "evt-1", "202 queued stored")
		workOn(t, second)
		becomes(t, second, "evt-1", "applied", "")
		wantAttempts(t, app, "evt-1", "2")
	})
	t.Run("while the application works", func(t *testing.T) {
		app, _, first, second := tappedWorker(t)
		hold := make(chan struct{})
		t.Cleanup(func() { close(hold) })
		app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
			if run == 1 {
				<-hold
			}
			fmt.Fprintf(w, "run %d", run)
		})
		expect(t, second, "evt-1", "202 queued stored")
		app.await(t, "evt-1")
		first.kill()
		expect(t, second, "evt-1", "202 queued stored")
		workOn(t, second)
		becomes(t, second, "evt-1", "applied", "")
		wantAttempts(t, app, "evt-1", "1", "2")
	})
	t.Run("after the answer, before it is recorded", func(t *testing.T) {
		app, tap, first, second := tappedWorker(t)
		app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
			if run == 1 {
				tap.Blackhole()
			}
			fmt.Fprintf(w, "run %d", run)
		})
		expect(t, second, "evt-1", "202 queued stored")
		app.await(t, "evt-1")
		first.kill()
		tap.Cut()
		workOn(t, second)
		becomes(t, second, "evt-1", "applied", "")
		wantAttempts(t, app, "evt-1", "1", "2")
		expect(t, second, "evt-1", "200 replayed run 2")
	})
	t.Run("after it is recorded", func(t *testing.T) {
		app, tap, first, second := tappedWorker(t)
		app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
			tap.SwallowRepliesTo([]byte("evt-1"))
			fmt.Fprintf(w, "run %d", run)
		})
		expect(t, second, "evt-1", "202 queued stored")
		becomes(t, second, "evt-1", "applied", "")
		first.kill()
		workOn(t, second)
		expect(t, second, "evt-1", "200 replayed run 1")
		wantAttempts(t, app, "evt-1", "1")
	})
}

// The same of whoever accepts: what was not acknowledged is not there, or there once.
func TestKillTheAcceptorBetweenArrows(t *testing.T) {
	t.Run("before the job is in the ledger", func(t *testing.T) {
		app, tap, first, second := tappedAcceptor(t)
		tap.Blackhole()
		go try(first, payload("evt-1"), true)
		await(t, "the request", func() error { return inProgress(first) })
		first.kill()
		tap.Cut()
		if err := hasReceipt(t, second.env["DATABASE_URL"], "evt-1"); err == nil {
			t.Error("it is stored")
		}
		expect(t, second, "evt-1", "202 queued stored")
		becomes(t, second, "evt-1", "applied", "")
		wantAttempts(t, app, "evt-1", "1")
	})
	t.Run("after it is in the ledger, before the sender hears", func(t *testing.T) {
		app, tap, first, second := tappedAcceptor(t)
		tap.SwallowRepliesTo([]byte("evt-1"))
		heard := make(chan error, 1)
		go func() {
			_, err := try(first, payload("evt-1"), true)
			heard <- err
		}()
		await(t, "the job", func() error { return hasReceipt(t, second.env["DATABASE_URL"], "evt-1") })
		first.kill()
		if <-heard == nil {
			t.Error("the sender got an answer: the test tests nothing")
		}
		becomes(t, second, "evt-1", "applied", "") // nobody needs to send it again
		expect(t, second, "evt-1", "200 replayed run 1")
		wantAttempts(t, app, "evt-1", "1")
	})
}

// tappedAcceptor is two replicas in accept mode: the first accepts only, through a tap, the second works jobs off.
func tappedAcceptor(t *testing.T) (app *application, tap *testenv.Tap, first, second *sidecar) {
	t.Helper()
	app, tap, through, direct := behindTap(t)
	app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) { fmt.Fprintf(w, "run %d", run) })
	first = newSidecar(t, integration(t, accepting("paused: true")...), through).start(t)
	second = newSidecar(t, integration(t, accepting()...), direct).start(t)
	expect(t, first, "evt-warm", "202 queued stored")
	becomes(t, second, "evt-warm", "applied", "")
	return app, tap, first, second
}

// tappedWorker is two replicas in accept mode: the first works jobs off, through a tap, the second accepts only.
func tappedWorker(t *testing.T) (app *application, tap *testenv.Tap, first, second *sidecar) {
	t.Helper()
	app, tap, through, direct := behindTap(t)
	first = newSidecar(t, integration(t, acceptingShort()...), through).start(t)
	second = newSidecar(t, integration(t, acceptingShort("paused: true")...), direct).start(t)
	expect(t, second, "evt-warm", "202 queued stored")
	becomes(t, second, "evt-warm", "applied", "")
	return app, tap, first, second
}

// workOn lets a sidecar that only accepted work jobs off.
func workOn(t *testing.T, s *sidecar) {
	t.Helper()
	write(t, s.env["SIDECAR_CONFIG"], integration(t, acceptingShort()...))
}

// A worker that is asked to stop finishes what it has begun, and takes nothing more.
func TestStoppingWorkerFinishes(t *testing.T) {
	app := newApplication(t)
	database := testenv.Postgres(t)
	env := map[string]string{"DATABASE_URL": database, "SIDECAR_UPSTREAM": "http://" + app.address}
	s := newSidecar(t, integration(t, "mode: accept", "timeout: 10s", "lease: 30s", "concurrency: 1"), env).start(t)
	release := make(chan struct{})
	app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
		<-release
		fmt.Fprintf(w, "run %d", run)
	})
	expect(t, s, "evt-1", "202 queued ")
	app.await(t, "evt-1")
	expect(t, s, "evt-2", "202 queued ")
	s.signal(syscall.SIGTERM)
	await(t, "draining", func() error {
		if _, err := http.Get("http://" + s.public + "/"); err == nil {
			return fmt.Errorf("it still listens")
		}
		return nil
	})
	close(release)
	<-s.ended
	next := newSidecar(t, integration(t, "mode: accept", "timeout: 10s", "lease: 30s"), env).start(t)
	expect(t, next, "evt-1", "200 replayed run 1")
	becomes(t, next, "evt-2", "applied", "")
	wantAttempts(t, app, "evt-1", "1")
	wantAttempts(t, app, "evt-2", "1")
}

func TestReplicasShareTheWork(t *testing.T) {
	const events = 300
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app, accepting()...)
	var next atomic.Int64
	var sending sync.WaitGroup
	for i := range 8 {
		sending.Go(func() {
			for n := next.Add(1); n <= events; n = next.Add(1) {
				expect(t, []*sidecar{first, second}[i%2], fmt.Sprintf("evt-%d", n), "202 queued stored")
			}
		})
	}
	sending.Wait()
	for n := 1; n <= events; n++ {
		event := fmt.Sprintf("evt-%d", n)
		becomes(t, first, event, "applied", "")
		wantAttempts(t, app, event, "1")
	}
}

// One account's application does not answer, and another's sender floods: a third one's events are not delayed.
func TestADeadApplicationAndAFloodDelayNobodyElse(t *testing.T) {
	app := newApplication(t)
	env := map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address}
	lines := []string{"mode: accept", "timeout: 5s", "lease: 15s"}
	yaml := integration(t, lines...)
	for _, account := range []string{"calm", "flood"} {
		_, entry, _ := strings.Cut(integration(t, lines...), "integrations:\n")
		yaml += strings.NewReplacer("account: acme", "account: "+account, route, route+"/"+account).Replace(entry)
	}
	s := newSidecar(t, yaml, env).start(t)
	at := func(account string) *sidecar {
		other := *s
		other.public += route + "/" + account + "#" // the rest of the path is a fragment
		return &other
	}
	for i := range 300 {
		event := fmt.Sprintf("evt-%d", i)
		app.on(event, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
		expect(t, s, event, "202 queued ")
	}
	app.await(t, "evt-0")
	var flooding sync.WaitGroup
	over := make(chan struct{})
	var flooded atomic.Int64
	for range 8 {
		flooding.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					event := fmt.Sprintf("flood-%d", flooded.Add(1))
					app.on(event, func(_ http.ResponseWriter, r *http.Request, _ int) { pass(300 * time.Millisecond) }) // more comes than is done
					expect(t, at("flood"), event, "202 queued ")
				}
			}
		})
	}
	calm := at("calm")
	var slowest time.Duration
	for i := range 30 {
		event := fmt.Sprintf("calm-%d", i)
		began := time.Now()
		expect(t, calm, event, "202 queued ")
		app.await(t, event)
		slowest = max(slowest, time.Since(began))
	}
	close(over)
	flooding.Wait()
	if slowest > 4500*time.Millisecond { // a place that the dead application holds is free after 5 s
		t.Errorf("an event of another account waited %s, beside %d of the flood", slowest, flooded.Load())
	}
}

func TestPauseAndResume(t *testing.T) {
	app := newApplication(t)
	database := testenv.Postgres(t)
	t.Run("accept mode holds", func(t *testing.T) {
		first, second := replicas(t, database, app, accepting()...)
		expect(t, first, "evt-before", "202 queued stored")
		becomes(t, first, "evt-before", "applied", "")
		hold(t, first, "pause")
		awaitHeld(t, first, true)
		awaitHeld(t, second, true)
		expect(t, second, "evt-held", "202 queued stored")
		if exit, out := first.run(t, "pause", "acme/orders", "--actor", "ada", "--reason", "again"); exit != 1 {
			t.Errorf("pausing twice: exit %d\n%s", exit, out)
		}
		if exit, out := first.run(t, "pause", "acme/nobody", "--actor", "ada", "--reason", "typo"); exit != 2 {
			t.Errorf("pausing nobody: exit %d\n%s", exit, out)
		}
		becomes(t, first, "evt-held", "queued", "accepted")
		hold(t, first, "resume")
		becomes(t, first, "evt-held", "applied", "")
		wantAttempts(t, app, "evt-held", "1")
		expectActs(t, first)
		first.kill()
		second.kill()
	})
	t.Run("forward mode answers 503", func(t *testing.T) {
		first, second := replicas(t, database, app)
		hold(t, first, "pause")
		for _, s := range []*sidecar{first, second} {
			awaitHeld(t, s, true)
			got := send(t, s, "evt-forward")
			if got.String() != "503 paused" || got.header.Get("Retry-After") == "" {
				t.Errorf("paused: %s, Retry-After %q", got, got.header.Get("Retry-After"))
			}
		}
		hold(t, second, "resume")
		for _, s := range []*sidecar{first, second} {
			awaitHeld(t, s, false)
		}
		expect(t, first, "evt-forward", "200 applied evt-forward run 1")
	})
}

// expectActs expects who held the integration and let it go on, and why, in what the ledger keeps for ever; what was
// refused is not there.
func expectActs(t *testing.T, s *sidecar) {
	t.Helper()
	exit, out := s.run(t, "audit", "export")
	var acts []string
	for line := range strings.Lines(out) {
		var record struct {
			Kind, Scope, Actor, Reason string
			Paused                     *bool
		}
		if json.Unmarshal([]byte(line), &record) == nil && record.Paused != nil {
			acts = append(acts, fmt.Sprint(record.Scope, " ", *record.Paused, " ", record.Actor, " ", record.Reason))
		}
	}
	if want := []string{"acme/orders true ada maintenance", "acme/orders false ada maintenance"}; exit != 0 || !slices.Equal(acts, want) {
		t.Errorf("exit %d, the ledger keeps %q, want %q\n%s", exit, acts, want, out)
	}
}

func hold(t *testing.T, s *sidecar, verb string) {
	t.Helper()
	if exit, out := s.run(t, verb, "acme/orders", "--actor", "ada", "--reason", "maintenance"); exit != 0 {
		t.Fatalf("%s: exit %d\n%s", verb, exit, out)
	}
}

// awaitHeld expects a replica to know, which takes it two seconds, and a busy machine more.
func awaitHeld(t *testing.T, s *sidecar, want bool) {
	t.Helper()
	began := time.Now()
	await(t, "the pause", func() error {
		page, err := fetch("http://" + s.admin + "/api/v1/status")
		page = strings.ReplaceAll(page, " ", "")
		if err == nil && strings.Contains(page, `"paused_by_operator":true`) != want {
			err = fmt.Errorf("it does not know")
		}
		return err
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// While nothing happens a replica asks the ledger at most once a second, all that it does now and then included.
func TestIdleReplicaAsksSeldom(t *testing.T) {
	app := newApplication(t)
	env := map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address}
	s := newSidecar(t, integration(t, accepting()...), env).start(t)
	expect(t, s, "evt-1", "202 queued stored")
	becomes(t, s, "evt-1", "applied", "")
	const span = 31 * time.Second // what is done twice a minute is in it once
	before := asked(t, s)
	<-time.NewTimer(span).C
	if after := asked(t, s); after-before > int(span/time.Second) {
		t.Errorf("%d questions in %s", after-before, span)
	}
}

// asked is how many round trips to PostgreSQL a sidecar has made.
func asked(t *testing.T, s *sidecar) (all int) {
	t.Helper()
	page, err := fetch("http://" + s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(name, "webhook_ledger_duration_seconds_count{") {
			continue
		}
		count, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		all += count
	}
	if all == 0 {
		t.Fatal("no round trip is counted")
	}
	return all
}

// A stored event is picked up at once by the replica that stored it, and within two seconds by another.
func TestPickUpIsPrompt(t *testing.T) {
	app := newApplication(t)
	database := testenv.Postgres(t)
	env := map[string]string{"DATABASE_URL": database, "SIDECAR_UPSTREAM": "http://" + app.address}
	t.Run("where it was stored", func(t *testing.T) {
		within := 0
		for try := 0; try < 3 && within < 198; try++ { // a machine that is busy once is not so each time
			s := newSidecar(t, integration(t, accepting()...), env).start(t)
			for i := range 200 {
				event := fmt.Sprintf("evt-%d-%d", try, i)
				expect(t, s, event, "202 queued stored")
				app.await(t, event) // one after the other: nobody is picked up with the next one
			}
			within = pickedUp(t, s, "0.25", 200)
			s.kill()
		}
		if within < 198 {
			t.Errorf("%d of 200 were picked up within 250 ms", within)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		worker := newSidecar(t, integration(t, accepting()...), env).start(t)
		acceptor := newSidecar(t, integration(t, accepting("paused: true")...), env).start(t)
		for i := range 5 {
			event := fmt.Sprintf("far-%d", i)
			expect(t, acceptor, event, "202 queued stored")
			app.await(t, event)
		}
		if soon, all := pickedUp(t, worker, "2.5", 5), pickedUp(t, worker, "10", 5); soon < 3 || all < 5 {
			t.Errorf("%d of 5 were picked up within 2.5 s, %d within 10 s", soon, all)
		}
	})
}

// pickedUp is how many of a sidecar's jobs were claimed within so many seconds of when they were due. A job is counted when its
// attempt is over, which is a moment after the application and the ledger know of it.
func pickedUp(t *testing.T, s *sidecar, within string, jobs int) (count int) {
	t.Helper()
	tell := func(page, name string) (number int, err error) {
		_, rest, found := strings.Cut(page, "webhook_job_wait_seconds_"+name+" ")
		if !found {
			return 0, fmt.Errorf("the page does not tell how long jobs waited: no %s", name)
		}
		_, err = fmt.Sscan(rest, &number)
		return number, err
	}
	await(t, "the count of jobs", func() error {
		page, err := fetch("http://" + s.admin + "/metrics")
		if err != nil {
			return err
		}
		all, err := tell(page, "count")
		if err == nil && all != jobs {
			err = fmt.Errorf("%d of %d jobs are counted", all, jobs)
		}
		if err != nil {
			return err
		}
		count, err = tell(page, fmt.Sprintf("bucket{le=%q}", within))
		return err
	})
	return count
}

// An attempt that takes longer than the shutdown may is broken off, and recorded as what it is: unknown.
func TestStoppingWorkerBreaksOffInTime(t *testing.T) {
	app := newApplication(t)
	env := map[string]string{
		"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address, "SIDECAR_SHUTDOWN_TIMEOUT": "500ms",
	}
	lines := []string{"mode: accept", "timeout: 15s", "lease: 30s", "retry: {initial: 50ms, max: 100ms}"}
	s := newSidecar(t, integration(t, lines...), env).start(t)
	app.on("evt-1", func(w http.ResponseWriter, r *http.Request, run int) {
		if run == 1 {
			<-r.Context().Done()
		}
		fmt.Fprintf(w, "run %d", run)
	})
	expect(t, s, "evt-1", "202 queued ")
	app.await(t, "evt-1")
	began := time.Now()
	s.signal(syscall.SIGTERM)
	<-s.ended
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s to stop", took)
	}
	next := newSidecar(t, integration(t, lines...), env).start(t)
	began = time.Now()
	becomes(t, next, "evt-1", "applied", "")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the event waited %s, as long as for a lease", took)
	}
	wantAttempts(t, app, "evt-1", "1", "2")
}

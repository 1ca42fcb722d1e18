package e2e_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// A job that kills every worker that takes it is counted each time, ends in the dead letters, and takes nobody with it.
func TestAJobThatKillsEveryWorker(t *testing.T) {
	app := newApplication(t)
	env := map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address}
	acceptor := newSidecar(t, integration(t, acceptingShort("paused: true")...), env).start(t)
	worker := newSidecar(t, integration(t, acceptingShort()...), env)
	at := make(chan struct{}, 10)
	app.on("evt-deadly", func(_ http.ResponseWriter, r *http.Request, _ int) {
		at <- struct{}{}
		<-r.Context().Done()
	})
	expect(t, acceptor, "evt-deadly", "202 queued stored")
	for range 3 { // max_attempts
		s := *worker
		s.public, s.admin = testenv.Address(t), testenv.Address(t)
		s.env = map[string]string{}
		for name, value := range worker.env {
			s.env[name] = value
		}
		s.env["SIDECAR_LISTEN"], s.env["SIDECAR_ADMIN_LISTEN"], s.env["SIDECAR_PROBE_LISTEN"] = s.public, s.admin, testenv.Address(t)
		s.launch(t)
		select {
		case <-at:
			s.kill()
		case <-time.After(40 * time.Second):
			t.Fatal("the job was not taken again")
		}
	}
	await(t, "the end", func() error {
		got, err := receiptOf(t, acceptor, "evt-deadly")
		if err == nil && (got.State != "dead" || got.Reason != "max_attempts" || got.Attempts != 3 || got.Request != "kept") {
			err = fmt.Errorf("it is %+v", got)
		}
		return err
	})
	wantAttempts(t, app, "evt-deadly", "1", "2", "3")
	expect(t, acceptor, "evt-deadly", "202 dead stored")
	last := newSidecar(t, integration(t, accepting()...), env).start(t)
	expect(t, last, "evt-fine", "202 queued stored")
	becomes(t, last, "evt-fine", "applied", "")
}

// An application that is away, or fails, for longer than max_age: the event is dead, nothing is lost, and a replay ends it.
func TestTheApplicationIsAwayForLongerThanMaxAge(t *testing.T) {
	var away, fails atomic.Bool
	app := newApplication(t)
	front := newDoor(t, app.address, &away)
	app.on("evt-fails", func(w http.ResponseWriter, _ *http.Request, run int) {
		if fails.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "evt-fails run %d", run)
	})
	s := newSidecar(t, integration(t, "mode: accept", `accept: {body: "stored"}`,
		"retry: {max_attempts: 100000, max_age: 2s, initial: 50ms, max: 200ms}"),
		map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + front}).start(t)
	dies := func(event string) receipt {
		expect(t, s, event, "202 queued stored")
		becomes(t, s, event, "dead", "max_age")
		got, err := receiptOf(t, s, event)
		if err != nil || got.Request != "kept" {
			t.Errorf("%s: %+v, %v: the request is kept", event, got, err)
		}
		expect(t, s, event, "202 dead stored")
		return got
	}
	replayed := func(event string, attempts int) {
		if exit, out := s.run(t, "dead-letters", "replay", "acme/orders", event, "--actor", "ada", "--reason", "it is back"); exit != 0 {
			t.Fatalf("replay: exit %d\n%s", exit, out)
		}
		becomes(t, s, event, "applied", "")
		if got := app.attempts(event); len(got) != attempts || got[attempts-1] != strconv.Itoa(attempts) {
			t.Errorf("the application saw %s as attempts %v, want %d", event, got, attempts)
		}
		expect(t, s, event, fmt.Sprintf("200 replayed %s run %d", event, attempts))
	}

	away.Store(true)
	await(t, "the door to shut", func() error {
		conn, err := net.Dial("tcp", front)
		if err == nil {
			conn.Close()
			return fmt.Errorf("it is open")
		}
		return nil
	})
	if got := dies("evt-away"); got.Attempts != 0 {
		t.Errorf("%+v: what is not sent counts for nothing", got)
	}
	away.Store(false)
	await(t, "the door to open", func() error {
		conn, err := net.Dial("tcp", front)
		if err == nil {
			conn.Close()
		}
		return err
	})
	wantAttempts(t, app, "evt-away")
	replayed("evt-away", 1)

	fails.Store(true)
	failed := dies("evt-fails")
	if failed.Attempts < 2 {
		t.Errorf("%+v: an answer that is not final is asked for again", failed)
	}
	fails.Store(false)
	replayed("evt-fails", failed.Attempts+1)
}

// newDoor is the way to an application that can be shut: a moment later connections are refused.
func newDoor(t *testing.T, target string, shut *atomic.Bool) string {
	t.Helper()
	address := testenv.Address(t) // nobody takes it while it is shut
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	serve := func(l net.Listener) {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				onward, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer onward.Close()
				go io.Copy(onward, conn)
				io.Copy(conn, onward)
			}()
		}
	}
	go serve(listener)
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for closed := false; ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			mu.Lock()
			switch want := shut.Load(); {
			case want && !closed:
				listener.Close()
				closed = true
			case !want && closed:
				if again, err := net.Listen("tcp", address); err == nil {
					listener, closed = again, false
					go serve(again)
				}
			}
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		close(over)
		<-watched
		listener.Close()
	})
	return address
}

// Where a job cannot be written nothing is acknowledged, in either mode.
func TestWhatIsNotStoredIsNotAcknowledged(t *testing.T) {
	for name, lines := range map[string][]string{
		"accept":            accepting("paused: true"),
		"on_failure: queue": short("on_failure: queue", "retry: {initial: 1h, max: 1h}"),
	} {
		t.Run(name, func(t *testing.T) {
			app, tap, through, _ := behindTap(t)
			s := newSidecar(t, integration(t, lines...), through).start(t)
			send(t, s, "evt-warm")
			app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, _ int) {
				tap.Blackhole()
				w.WriteHeader(http.StatusInternalServerError)
			})
			if name == "accept" {
				tap.Blackhole()
			}
			if got := send(t, s, "evt-1"); got.String() != "503 ledger_unavailable" || got.header.Get("Retry-After") == "" {
				t.Errorf("%s, Retry-After %q", got, got.header.Get("Retry-After"))
			}
			tap.Cut()
			tap.Pass()
		})
	}
}

// An attempt of the worker whose outcome is unknown makes the event dead under quarantine, however it came to be unknown;
// one that was surely not sent does not.
func TestUnknownOutcomesOfJobsAreQuarantined(t *testing.T) {
	app := newApplication(t)
	env := map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address}
	acceptor := newSidecar(t, integration(t, acceptingShort("paused: true", "in_doubt: quarantine")...), env).start(t)
	worker := newSidecar(t, integration(t, acceptingShort("in_doubt: quarantine")...), env).start(t)
	app.on("evt-hangs", func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	app.on("evt-cut", func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) })
	crashing := make(chan struct{})
	app.on("evt-crash", func(_ http.ResponseWriter, r *http.Request, _ int) {
		close(crashing)
		<-r.Context().Done()
	})
	for _, event := range []string{"evt-hangs", "evt-cut"} {
		expect(t, acceptor, event, "202 queued stored")
		becomes(t, acceptor, event, "dead", "quarantined")
	}
	expect(t, acceptor, "evt-crash", "202 queued stored")
	<-crashing
	worker.kill()
	await(t, "evt-crash", func() error {
		got, err := receiptOf(t, acceptor, "evt-crash")
		if err == nil && (got.State != "dead" || got.Reason != "quarantined" || got.Request != "kept") {
			err = fmt.Errorf("it is %+v", got)
		}
		return err
	})
	for _, event := range []string{"evt-hangs", "evt-cut", "evt-crash"} {
		expect(t, acceptor, event, "202 dead stored")
		wantAttempts(t, app, event, "1")
	}
	last := newSidecar(t, integration(t, accepting("in_doubt: quarantine")...), env).start(t)
	app.Close()
	expect(t, last, "evt-away", "202 queued stored")
	becomes(t, acceptor, "evt-away", "queued", "unreachable")
}

// Jobs of an integration that nobody has any more are left alone, counted, and worked off when it is back.
func TestJobsOfUnknownScopesAreCounted(t *testing.T) {
	app := newApplication(t)
	env := map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address}
	before := newSidecar(t, integration(t, accepting("paused: true")...), env).start(t)
	for i := range 3 {
		expect(t, before, fmt.Sprintf("evt-%d", i), "202 queued stored")
	}
	before.kill()
	renamed := strings.Replace(integration(t, accepting()...), "name: orders", "name: renamed", 1)
	s := newSidecar(t, renamed, env).start(t)
	await(t, "the count", func() error {
		page, err := fetch("http://" + s.admin + "/metrics")
		if err == nil && !strings.Contains(page, "\nwebhook_jobs_foreign 3\n") {
			err = fmt.Errorf("the page does not say 3")
		}
		return err
	})
	expect(t, s, "evt-own", "202 queued stored")
	app.await(t, "evt-own") // the worker works
	wantAttempts(t, app, "evt-0")
	write(t, s.env["SIDECAR_CONFIG"], integration(t, accepting()...))
	for i := range 3 {
		becomes(t, s, fmt.Sprintf("evt-%d", i), "applied", "")
	}
}

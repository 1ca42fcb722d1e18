package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// two replicas of one application on one ledger.
func replicas(t *testing.T, database string, app *application, lines ...string) (a, b *sidecar) {
	t.Helper()
	yaml := integration(t, lines...)
	env := map[string]string{"DATABASE_URL": database, "SIDECAR_UPSTREAM": "http://" + app.address}
	return newSidecar(t, yaml, env).start(t), newSidecar(t, yaml, env).start(t)
}

// The ways in which a process can end between two arrows, each with its one documented outcome.
func TestKillBetweenArrows(t *testing.T) {
	t.Run("before the claim is in the ledger", func(t *testing.T) {
		app, tap, first, second := tapped(t)
		tap.Blackhole()
		go try(first, payload("evt-1"), true)
		await(t, "the request", func() error { return inProgress(first) })
		first.kill()
		tap.Cut() // what it sent is lost with it
		tap.Pass()
		expect(t, second, "evt-1", "200 applied evt-1 run 1")
		wantAttempts(t, app, "evt-1", "1")
	})
	t.Run("after the claim, before the attempt", func(t *testing.T) {
		app, tap, first, second := tapped(t)
		tap.SwallowRepliesTo([]byte("evt-1"))
		go try(first, payload("evt-1"), true)
		await(t, "the claim", func() error { return hasReceipt(t, second.env["DATABASE_URL"], "evt-1") })
		first.kill()
		expect(t, second, "evt-1", "503 in_flight in_flight")
		settles(t, second, "evt-1", "200 applied evt-1 run 1")
		wantAttempts(t, app, "evt-1", "2")
	})
	t.Run("while the application works", func(t *testing.T) {
		app, _, first, second := tapped(t)
		hold := make(chan struct{})
		t.Cleanup(func() { close(hold) })
		app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
			if run == 1 {
				<-hold
			}
			fmt.Fprintf(w, "run %d", run)
		})
		go try(first, payload("evt-1"), true)
		app.await(t, "evt-1")
		first.kill()
		expect(t, second, "evt-1", "503 in_flight in_flight")
		settles(t, second, "evt-1", "200 applied run 2")
		expect(t, second, "evt-1", "200 replayed run 2")
		wantAttempts(t, app, "evt-1", "1", "2")
	})
	t.Run("after the answer, before it is recorded", func(t *testing.T) {
		app, tap, first, second := tapped(t)
		app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
			if run == 1 {
				tap.Blackhole()
			}
			fmt.Fprintf(w, "run %d", run)
		})
		go try(first, payload("evt-1"), true)
		app.await(t, "evt-1")
		expect(t, second, "evt-1", "503 in_flight in_flight")
		first.kill()
		tap.Cut()
		tap.Pass()
		settles(t, second, "evt-1", "200 applied run 2")
		wantAttempts(t, app, "evt-1", "1", "2")
	})
	t.Run("after it is recorded, before the sender hears", func(t *testing.T) {
		app, tap, first, second := tapped(t)
		app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
			tap.SwallowRepliesTo([]byte("evt-1"))
			fmt.Fprintf(w, "run %d", run)
		})
		go try(first, payload("evt-1"), true)
		app.await(t, "evt-1")
		settles(t, second, "evt-1", "200 replayed run 1")
		first.kill()
		expect(t, second, "evt-1", "200 replayed run 1")
		wantAttempts(t, app, "evt-1", "1")
	})
}

// tapped is two replicas, the first of which talks to the ledger through a tap.
func tapped(t *testing.T) (app *application, tap *testenv.Tap, first, second *sidecar) {
	t.Helper()
	app, tap, through, direct := behindTap(t)
	yaml := integration(t, short()...)
	first = newSidecar(t, yaml, through).start(t)
	second = newSidecar(t, yaml, direct).start(t)
	expect(t, first, "evt-warm", "200 applied evt-warm run 1") // connected and migrated
	expect(t, second, "evt-warm", "200 replayed evt-warm run 1")
	return app, tap, first, second
}

// behindTap is an application, and the settings of two replicas before it: one reaches their ledger through a tap, the
// other directly.
func behindTap(t *testing.T) (app *application, tap *testenv.Tap, through, direct map[string]string) {
	t.Helper()
	app = newApplication(t)
	database := testenv.Postgres(t)
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	tap = testenv.NewTap(t, fmt.Sprintf("%s:%d", config.Host, config.Port))
	env := func(url string) map[string]string {
		return map[string]string{"DATABASE_URL": url, "SIDECAR_UPSTREAM": "http://" + app.address}
	}
	return app, tap, env(tap.Through(t, database)), env(database)
}

// inProgress has no complaint once the sidecar is handling a delivery.
func inProgress(s *sidecar) error {
	page, err := fetch("http://" + s.admin + "/metrics")
	if err != nil {
		return err
	}
	if !contains(page, "webhook_deliveries_in_flight 1") {
		return fmt.Errorf("nothing in flight")
	}
	return nil
}

// hasReceipt has no complaint once the ledger knows the event.
func hasReceipt(t *testing.T, database, event string) error {
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		return err
	}
	defer conn.Close(t.Context())
	var found bool
	err = conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM sidecar_default.receipts WHERE event_id = $1)", []byte(event)).Scan(&found)
	if err == nil && !found {
		err = errors.New("no receipt")
	}
	return err
}

func wantAttempts(t *testing.T, app *application, event string, want ...string) {
	t.Helper()
	if got := app.attempts(event); !slices.Equal(got, want) {
		t.Errorf("%s reached the application in attempts %v, want %v", event, got, want)
	}
}

// A process that slept through its lease cannot overwrite what its successor recorded.
func TestPausedOwnerCannotOverwriteItsSuccessor(t *testing.T) {
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app, short()...)
	release := make(chan struct{})
	app.on("evt-1", func(w http.ResponseWriter, _ *http.Request, run int) {
		if run == 1 {
			<-release
		}
		fmt.Fprintf(w, "run %d", run)
	})
	heard := make(chan answer, 1)
	go func() {
		got, _ := try(first, payload("evt-1"), true)
		heard <- got
	}()
	app.await(t, "evt-1")
	first.signal(syscall.SIGSTOP)
	settles(t, second, "evt-1", "200 applied run 2")
	close(release)
	first.signal(syscall.SIGCONT)
	if got := <-heard; got.body == "run 1" || got.receipt == "applied" {
		t.Errorf("the late owner answered %s", got)
	}
	expect(t, second, "evt-1", "200 replayed run 2")
	expect(t, first, "evt-1", "200 replayed run 2")
	wantAttempts(t, app, "evt-1", "1", "2")
}

// The connection is cut when the claim is committed and nobody has heard of it: the claim finds itself.
func TestClaimDoesNotWaitForItself(t *testing.T) {
	app, tap, through, direct := behindTap(t)
	yaml := integration(t, "timeout: 20s", "lease: 40s")
	first, second := newSidecar(t, yaml, through).start(t), newSidecar(t, yaml, direct).start(t)
	expect(t, first, "evt-warm", "200 applied evt-warm run 1") // connected and migrated
	tap.SwallowRepliesTo([]byte("evt-1"))
	heard := make(chan answer, 1)
	start := time.Now()
	go func() {
		got, _ := try(first, payload("evt-1"), true)
		heard <- got
	}()
	await(t, "the claim", func() error { return hasReceipt(t, second.env["DATABASE_URL"], "evt-1") })
	tap.Cut()
	tap.Pass()
	if got := (<-heard).String(); got != "200 applied evt-1 run 1" {
		t.Errorf("it got %s", got)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s: as long as a lease", took)
	}
	wantAttempts(t, app, "evt-1", "1")
}

// A row that somebody locks in psql delays its own event only.
func TestLockedRowDelaysItsOwnEventOnly(t *testing.T) {
	app := newApplication(t)
	database := testenv.Postgres(t)
	first, _ := replicas(t, database, app)
	app.on("evt-locked", func(w http.ResponseWriter, _ *http.Request, run int) {
		if run == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprintf(w, "run %d", run)
	})
	expect(t, first, "evt-locked", "500 retryable run 1")
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM sidecar_default.receipts WHERE event_id = $1 FOR UPDATE", []byte("evt-locked")); err != nil {
		t.Fatal(err)
	}
	locked := make(chan answer, 1)
	go func() {
		got, _ := try(first, payload("evt-locked"), true)
		locked <- got
	}()
	var took []time.Duration
	for i := range 50 {
		event := fmt.Sprintf("evt-%d", i)
		start := time.Now()
		expect(t, first, event, "200 applied "+event+" run 1")
		took = append(took, time.Since(start))
	}
	if slices.Sort(took); took[len(took)-3] > 2*time.Second { // two may meet a busy machine
		t.Errorf("three other events waited %s and more", took[len(took)-3])
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-locked
	settles(t, first, "evt-locked", "200 replayed run 2")
}

// PostgreSQL goes away and comes back: 503 meanwhile, no restart, nothing else disturbed.
func TestLedgerGoesAndComes(t *testing.T) {
	app := newApplication(t)
	cluster := testenv.NewCluster(t, testenv.ClusterConfig{})
	database := cluster.Database(t)
	first, _ := replicas(t, database, app)
	expect(t, first, "evt-before", "200 applied evt-before run 1")
	cluster.Stop()
	expect(t, first, "evt-before", "200 replayed evt-before run 1") // remembered
	expect(t, first, "evt-down", "503 ledger_unavailable")
	if got, err := try(first, payload("evt-down"), false); err != nil || got.status != http.StatusUnauthorized {
		t.Errorf("unsigned: %v %v", got, err)
	}
	if page, err := fetch("http://" + first.public + "/open"); err != nil {
		t.Errorf("an open path: %v %s", err, page)
	}
	cluster.Start(t)
	settles(t, first, "evt-down", "200 replayed evt-down run 1")
	expect(t, first, "evt-before", "200 replayed evt-before run 1")
	wantAttempts(t, app, "evt-down", "1")
}

// Twenty identical deliveries at the same instant over two replicas, a thousand rounds: the application sees each once.
func TestConcurrentDuplicatesRunOnce(t *testing.T) {
	const rounds, deliveries, lanes = 1000, 20, 4
	app := newApplication(t)
	first, second := replicas(t, testenv.Postgres(t), app)
	var next atomic.Int64
	var playing sync.WaitGroup
	for range lanes {
		playing.Go(func() {
			for {
				n := next.Add(1)
				if n > rounds || t.Failed() {
					return
				}
				round(t, []*sidecar{first, second}, fmt.Sprintf("evt-%d", n), deliveries)
			}
		})
	}
	playing.Wait()
	for n := 1; n <= rounds && !t.Failed(); n++ {
		wantAttempts(t, app, fmt.Sprintf("evt-%d", n), "1")
	}
}

func round(t *testing.T, over []*sidecar, event string, deliveries int) {
	start := make(chan struct{})
	var sent sync.WaitGroup
	var applied atomic.Int64
	for i := range deliveries {
		sent.Go(func() {
			<-start
			got, err := try(over[i%len(over)], payload(event), true)
			switch {
			case err != nil:
				t.Errorf("%s: %v", event, err)
			case got.String() == "200 applied "+event+" run 1":
				applied.Add(1)
			case got.String() != "200 replayed "+event+" run 1" && got.String() != "503 in_flight in_flight":
				t.Errorf("%s: %s", event, got)
			}
		})
	}
	close(start)
	sent.Wait()
	if n := applied.Load(); n != 1 {
		t.Errorf("%s: %d deliveries were told applied", event, n)
	}
}

// The application's answers are held within the budget, however many and large they come at once, and no result is lost for want
// of room: only the body is.
func TestLargeAnswersAreHeldWithinTheBudget(t *testing.T) {
	const most = 200 << 20 // bytes resident; without a bound it would be more than 256 MiB on top of what a sidecar needs
	for name, c := range map[string]struct {
		lines            []string
		answers, size    int
		first, duplicate string
	}{
		"forward": {nil, 40, 8 << 20, "200 applied ", "200 replayed "},
		"accept":  {accepting(), 8, 16 << 20, "202 queued stored", "200 replayed "}, // as many as a worker starts at once
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(t)
			env := map[string]string{
				"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address,
				"SIDECAR_MAX_INFLIGHT_BYTES": "64MiB", "GOMEMLIMIT": "128MiB",
			}
			s := newSidecar(t, integration(t, c.lines...), env).start(t)
			var arrived sync.WaitGroup
			arrived.Add(c.answers)
			half := make([]byte, c.size/2)
			for i := range c.answers {
				app.on(fmt.Sprint("evt-", i), func(w http.ResponseWriter, _ *http.Request, run int) {
					w.Write(half)
					if run == 1 {
						arrived.Done()
						arrived.Wait() // all of them are held at this moment
					}
					w.Write(half)
				})
			}
			var sending sync.WaitGroup
			var whole atomic.Int64
			for i := range c.answers {
				sending.Go(func() {
					got, err := try(s, payload(fmt.Sprint("evt-", i)), true)
					if err != nil {
						t.Error(err)
						return
					}
					if len(got.body) == c.size {
						got.body = ""
						whole.Add(1)
					}
					if got.String() != c.first {
						t.Errorf("evt-%d: %s, want %s", i, got, c.first)
					}
				})
			}
			sending.Wait()
			for i := range c.answers {
				event := fmt.Sprint("evt-", i)
				becomes(t, s, event, "applied", "")
				if got := send(t, s, event); got.String() != c.duplicate || got.header.Get("Sidecar-Body") != "omitted" {
					t.Errorf("%s: %s, Sidecar-Body %q", event, got, got.header.Get("Sidecar-Body"))
				}
			}
			if peak := peakResident(t, s); peak > most {
				t.Errorf("%d MiB were resident", peak>>20)
			}
			t.Logf("%d of %d answers were passed on whole", whole.Load(), c.answers)
		})
	}
}

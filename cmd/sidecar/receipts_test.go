package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/console"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// quarantined runs a sidecar, makes one event applied and one dead, and ends the sidecar.
func quarantined(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}}", "in_doubt: quarantine"))
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Idempotency-Key") == "evt-dead" && q.Header.Get("Sidecar-Attempt") == "1" {
			panic(http.ErrAbortHandler) // whatever it has done
		}
		w.WriteHeader(http.StatusCreated)
	})
	p := r.run()
	if got := p.deliver("evt-fine", firstKey); got != "201 applied" {
		t.Fatalf("got %s", got)
	}
	if got := p.deliver("evt-dead", firstKey); got != "502 dead" {
		t.Fatalf("got %s", got)
	}
	p.stop()
	return r
}

// stop ends the sidecar as an orchestrator does.
func (p *process) stop() {
	p.r.t.Helper()
	p.signal(syscall.SIGTERM)
	if status := p.end(); status != 0 {
		p.r.t.Fatalf("exit %d: %s", status, p.log)
	}
}

func (r *rig) receiptsOf(args ...string) []console.Receipt {
	r.t.Helper()
	var got []console.Receipt
	if err := json.Unmarshal([]byte(r.must(args...)), &got); err != nil {
		r.t.Fatal(err)
	}
	return got
}

func TestReceiptsAreListedAndShown(t *testing.T) {
	r := quarantined(t)
	if got := r.receiptsOf("receipts", "list", "--json"); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
	if got := r.receiptsOf("receipts", "list", "acme/orders", "--state", "applied", "--json"); len(got) != 1 || got[0].EventID != "evt-fine" {
		t.Errorf("got %+v", got)
	}
	if got := r.must("receipts", "list", "globex/orders"); strings.Contains(got, "evt-") {
		t.Errorf("got %s", got)
	}
	reference := delivery.Reference("acme/orders", "evt-fine")
	for _, args := range [][]string{{"acme/orders", "evt-fine"}, {reference}} {
		out := r.must(append([]string{"receipts", "show"}, args...)...)
		for _, want := range []string{"Event evt-fine of acme/orders", "credential k1", "the application answered 201", reference} {
			if !strings.Contains(out, want) {
				t.Errorf("nothing says %q in\n%s", want, out)
			}
		}
	}
	for want, args := range map[string][]string{
		"there is no receipt for evt-none": {"receipts", "show", "acme/orders", "evt-none"},
		"no receipt with reference":        {"receipts", "show", "0123456789abcdef"},
	} {
		if status, out := r.command("", args...); status != 1 || !strings.Contains(out, want) {
			t.Errorf("%v: exit %d: %s", args, status, out)
		}
	}
}

func TestReopenLetsAnAppliedEventRunAgain(t *testing.T) {
	r := quarantined(t)
	out := r.must("receipts", "reopen", "acme/orders", "evt-fine", "--actor", "ana", "--reason", "shipped to the wrong address")
	if !strings.Contains(out, "reopened") {
		t.Errorf("got %s", out)
	}
	if status, out := r.command("", "receipts", "reopen", "acme/orders", "evt-fine", "--actor", "ana", "--reason", "again"); status != 1 ||
		!strings.Contains(out, "is retryable") {
		t.Errorf("twice: exit %d: %s", status, out)
	}
	p := r.run()
	if got := p.deliver("evt-fine", firstKey); got != "201 applied" || !strings.Contains(r.runs(), "evt-fine#2") {
		t.Errorf("got %s after %s", got, r.runs())
	}
	p.stop()
	story := r.must("receipts", "show", "acme/orders", "evt-fine")
	for _, want := range []string{"reopened", "by ana", "shipped to the wrong address", "attempt 2: claimed -> applied"} {
		if !strings.Contains(story, want) {
			t.Errorf("nothing says %q in\n%s", want, story)
		}
	}
}

// Redis is optional for a person, too, but who reopens without it is told what that means.
func TestReopenSaysThatRedisDoesNotKnow(t *testing.T) {
	for name, disturb := range map[string]func(*testenv.RedisServer){
		"well": func(*testenv.RedisServer) {}, "killed": (*testenv.RedisServer).Stop, "silent": (*testenv.RedisServer).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			r, server := quarantined(t), testenv.NewRedis(t)
			r.env["REDIS_URL"] = server.URL()
			answers(t, server.URL())
			disturb(server)
			out := r.must("receipts", "reopen", "acme/orders", "evt-fine", "--actor", "ana", "--reason", "lost")
			if !strings.Contains(out, "reopened") || strings.Contains(out, "Redis could not be told") == (name == "well") {
				t.Errorf("got %s", out)
			}
		})
	}
}

// answers waits until Redis does, which the next command may be too impatient for.
func answers(t *testing.T, url string) {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await(ctx, func() error { return client.Ping(ctx).Err() }); err != nil {
		t.Fatal(err)
	}
}

func TestDeadLettersAreReplayed(t *testing.T) {
	r := quarantined(t)
	if got := r.receiptsOf("dead-letters", "list", "--json"); len(got) != 1 || got[0].EventID != "evt-dead" || got[0].Reason != "quarantined" {
		t.Fatalf("got %+v", got)
	}
	if out := r.must("dead-letters", "show", "acme/orders", "evt-dead"); !strings.Contains(out, "A person must act") {
		t.Errorf("got %s", out)
	}
	out := r.must("dead-letters", "replay", delivery.Reference("acme/orders", "evt-dead"), "--actor", "ana", "--reason", "it had not happened")
	if !strings.Contains(out, "queued") {
		t.Errorf("got %s", out)
	}
	p := r.run() // its worker sends the kept request; nobody need deliver it again
	deadline := time.Now().Add(patience)
	for got := ""; got != "201 replayed"; {
		if got = p.deliver("evt-dead", firstKey); time.Now().After(deadline) {
			t.Fatalf("got %s after %s", got, r.runs())
		}
	}
	if !strings.Contains(r.runs(), "evt-dead#2") || strings.Contains(r.runs(), "evt-dead#3") {
		t.Errorf("ran %s", r.runs())
	}
}

func TestDeadLettersAreClosed(t *testing.T) {
	r := quarantined(t)
	act := []string{"acme/orders", "evt-dead", "--actor", "ana", "--reason", "done by hand"}
	if status, _ := r.command("", append([]string{"dead-letters", "close", "--answer", "99"}, act...)...); status != 2 {
		t.Errorf("a status that is none: exit %d", status)
	}
	if status, out := r.command("", append([]string{"dead-letters", "close"}, "acme/orders", "evt-fine", "--actor", "a", "--reason", "b")...); status != 1 || !strings.Contains(out, "is applied") {
		t.Errorf("an applied event: exit %d: %s", status, out)
	}
	if out := r.must(append([]string{"dead-letters", "close", "--answer", "410"}, act...)...); !strings.Contains(out, "later deliveries get 410") {
		t.Errorf("got %s", out)
	}
	if got := r.run().deliver("evt-dead", firstKey); got != "410 closed" {
		t.Errorf("a later delivery: %s", got)
	}
}

func TestACommandMakesNoLedger(t *testing.T) {
	r := newRig(t)
	if status, out := r.command("", "receipts", "list"); status != 1 || !strings.Contains(out, "there is no ledger") {
		t.Errorf("exit %d: %s", status, out)
	}
	if out := r.must("migrate"); !strings.Contains(out, "up to date") {
		t.Errorf("got %s", out)
	}
	r.must("receipts", "list")
}

// An embedded ledger of an older version is brought up to date by sidecar migrate, or by a sidecar that may: by no other command,
// and by no sidecar that may not.
func TestOnlyWhoMayBringsAnEmbeddedLedgerUpToDate(t *testing.T) {
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}}"))
	r.env["SIDECAR_MIGRATE"] = "off"
	refused := func(what, want string) {
		t.Helper()
		for _, args := range [][]string{{"receipts", "list"}, {"dead-letters", "list"}, {"audit", "verify"}, {"run"}} {
			if status, out := r.command("", args...); status != 1 || !strings.Contains(out, want) || !strings.Contains(out, "sidecar migrate") {
				t.Errorf("%v of %s: exit %d: %s", args, what, status, out)
			}
		}
	}
	refused("a ledger that is not there", "there is no ledger")
	r.must("migrate")
	r.must("receipts", "list")
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Errorf("got %s", got)
	}
	p.stop()
	db, err := sql.Open("sqlite", r.path("ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	// Of the first version: the next one's steps begin with a table that is there, so that nobody comes far with them.
	if _, err := db.Exec("PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	refused("an older one", "is older than this version")
	r.env["SIDECAR_MIGRATE"] = "auto"
	if status, out := r.command("", "receipts", "list"); status != 1 || !strings.Contains(out, "is older than this version") {
		t.Errorf("a command that only looks: exit %d: %s", status, out)
	}
	if status, out := r.command("", "migrate"); status != 1 || !strings.Contains(out, "already exists") {
		t.Errorf("sidecar migrate does not try: exit %d: %s", status, out)
	}
}

func TestCommandsShareAPostgreSQLWithTheRunningSidecar(t *testing.T) {
	r := newRig(t)
	r.env["DATABASE_URL"] = testenv.Postgres(t)
	r.env["SIDECAR_MIGRATE"] = "off"
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "503" {
		t.Errorf("without a schema: %s", got)
	}
	if out := r.must("migrate"); !strings.Contains(out, "up to date: PostgreSQL at 127.0.0.1") {
		t.Errorf("got %s", out)
	}
	p.awaitDelivery(firstKey, "200 applied")
	if got := r.receiptsOf("receipts", "list", "--state", "applied", "--json"); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
}

// Who reopens an event without knowing of the replicas' Redis hears what that may mean; a file is only this pod's.
func TestReopenWithoutRedisSaysWhatItCannotKnow(t *testing.T) {
	for name, database := range map[string]string{"PostgreSQL": testenv.Postgres(t), "embedded": ""} {
		r := newRig(t)
		if database != "" {
			r.env["DATABASE_URL"] = database
		}
		p := r.run()
		p.awaitDelivery(firstKey, "200 applied")
		p.stop()
		listed := r.receiptsOf("receipts", "list", "--state", "applied", "--json")
		if len(listed) != 1 {
			t.Fatalf("%s: listed %+v", name, listed)
		}
		out := r.must("receipts", "reopen", listed[0].Reference, "--actor", "ana", "--reason", "lost")
		if !strings.Contains(out, "reopened") || strings.Contains(out, "REDIS_URL is not set") == (database == "") {
			t.Errorf("%s: got %s", name, out)
		}
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// committed is the server's ReadyForQuery outside a transaction: what went before is durable.
var committed = []byte{'Z', 0, 0, 0, 5, 'I'}

// tapped is a store behind a tap, and its database.
func tapped(t *testing.T) (*Store, *testenv.Tap, string) {
	t.Helper()
	dsn := freshDB(t)
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	tap := testenv.NewTap(t, address.Host)
	s := open(t, tap.Through(t, dsn), func(c *Config) { c.MaxConns = 1 })
	warm := claimed("warm")
	insert(t, s, warm) // statements are prepared: the next answer is the transaction's
	insert(t, s, warm)
	move(t, s, applied(warm))
	return s, tap, dsn
}

// unknown checks that an error promises nothing.
func unknown(t *testing.T, err error) {
	t.Helper()
	if err == nil || errors.Is(err, dedupe.ErrBatch) || errors.Is(err, dedupe.ErrRow) {
		t.Fatalf("want an error of unknown outcome, got %v", err)
	}
}

func TestInsertWhoseAnswerIsLostIsFoundByItsToken(t *testing.T) {
	s, tap, _ := tapped(t)
	row := claimed("evt_1")
	cut := tap.CutBeforeReply(committed)
	_, err := s.Insert(t.Context(), []dedupe.NewRow{row})
	unknown(t, err)
	<-cut
	found := insert(t, s, row)[0]
	if found.Inserted || found.Row.Token != row.Token || found.Row.State != dedupe.Claimed {
		t.Fatalf("got %+v", found)
	}
}

func TestInsertThatNeverArrivedIsMadeByTheNext(t *testing.T) {
	s, tap, _ := tapped(t)
	row := claimed("evt_1")
	tap.Refuse()
	_, err := s.Insert(t.Context(), []dedupe.NewRow{row})
	unknown(t, err)
	tap.Pass()
	if found := insert(t, s, row)[0]; !found.Inserted {
		t.Fatalf("got %+v", found)
	}
}

func TestMoveWhoseAnswerIsLostIsFoundByItsToken(t *testing.T) {
	s, tap, _ := tapped(t)
	row := claimed("evt_1")
	insert(t, s, row)
	cut := tap.CutBeforeReply(committed)
	_, err := s.Move(t.Context(), []dedupe.Move{applied(row)})
	unknown(t, err)
	<-cut
	if made := move(t, s, applied(row)); made[0] {
		t.Fatal("the move was made twice")
	}
	if got := read(t, s, "evt_1"); got.State != dedupe.Applied || got.Token != row.Token {
		t.Fatalf("got %+v", got)
	}
}

// keeper is the ledger over a store.
func keeper(t *testing.T, s *Store, lease time.Duration) *dedupe.Keeper {
	t.Helper()
	k, err := dedupe.NewKeeper(dedupe.KeeperConfig{
		Store: s, Replica: "test",
		Policy: func(delivery.Scope) (dedupe.Policy, bool) { return policy(lease), true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func policy(lease time.Duration) dedupe.Policy {
	return dedupe.Policy{
		Lease: lease, Record: dedupe.Record{Headers: []string{"Content-Type"}, MaxBody: 4 << 10},
		Retention: dedupe.Retention{Receipt: 24 * time.Hour, DeadLetter: 24 * time.Hour},
	}
}

func request(id string, lease time.Duration) dedupe.Request {
	return dedupe.Request{
		Scope: testScope, EventID: delivery.EventID(id), Fingerprint: delivery.HashParts([]byte(id)),
		CredentialID: "key-2026", EventType: "order.created", Policy: policy(lease),
	}
}

// result is what an answer of the application settles a claim to.
func result(c dedupe.Claim, lease time.Duration) dedupe.Settlement {
	answer := delivery.Response{Status: 200, Header: map[string][]string{}, Body: []byte("ok")}
	return policy(lease).Settle(c, delivery.Result{Outcome: delivery.Answered, Response: answer}, 0, nil)
}

// A connection cut between commit and answer makes neither a claim wait for itself nor a result be lost.
func TestLedgerResolvesUnknownCommits(t *testing.T) {
	s, tap, _ := tapped(t)
	k := keeper(t, s, time.Minute)
	cut := tap.CutBeforeReply(committed)
	decision, err := k.Claim(t.Context(), request("evt_1", time.Minute))
	if err != nil || decision.Kind != dedupe.Fresh || decision.Attempt != 1 {
		t.Fatalf("claim: %+v, %v", decision, err)
	}
	<-cut
	cut = tap.CutBeforeReply(committed)
	if err := k.Settle(t.Context(), decision.Claim, result(decision.Claim, time.Minute)); err != nil {
		t.Fatalf("settle: %v", err)
	}
	<-cut
	if decision, err = k.Claim(t.Context(), request("evt_1", time.Minute)); err != nil || decision.Kind != dedupe.Replay {
		t.Fatalf("replay: %+v, %v", decision, err)
	}
}

// A network, or a server, that says nothing costs a call its own deadline and no more; then everything works again.
func TestSilenceEndsByTheStoresOwnDeadline(t *testing.T) {
	cluster := testenv.NewCluster(t, testenv.ClusterConfig{})
	s := open(t, cluster.Database(t), func(c *Config) { c.Timeout = 3 * time.Second })
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	insert(t, s, claimed("evt_0"))
	cluster.Freeze()
	began := time.Now()
	_, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_1")})
	took := time.Since(began)
	cluster.Thaw()
	unknown(t, err)
	if took < 2900*time.Millisecond || took > 15*time.Second {
		t.Fatalf("the call took %v", took)
	}
	eventually(t, "the store works again", func() bool {
		_, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_1")})
		return err == nil
	})
}

// A caller that leaves does not cancel what the server is doing: the connection lives on.
func TestCallersEndDoesNotCloseConnections(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns, c.LockTimeout = 1, 20*time.Second }), connect(t, dsn)
	row := claimed("evt_1")
	insert(t, s, row)
	pid := backend(t, s)
	exec(t, conn, "BEGIN")
	exec(t, conn, "SELECT FROM sidecar_test.receipts FOR UPDATE")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Move(ctx, []dedupe.Move{applied(row)})
		done <- err
	}()
	awaitLockWait(t, conn, pid)
	cancel()
	exec(t, conn, "COMMIT")
	if err := <-done; err != nil {
		t.Fatalf("the statement did not end in peace: %v", err)
	}
	if now := backend(t, s); now != pid {
		t.Fatal("the connection was closed")
	}
}

// backend is the process that serves a store with one connection.
func backend(t *testing.T, s *Store) int32 {
	t.Helper()
	var pid int32
	if err := s.pool.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func awaitLockWait(t *testing.T, conn *pgx.Conn, pid int32) {
	t.Helper()
	eventually(t, "the statement waits for a lock", func() bool {
		return ask[bool](t, conn, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)", pid)
	})
}

func TestStartsWithoutItsDatabase(t *testing.T) {
	cluster := testenv.NewCluster(t, testenv.ClusterConfig{})
	cluster.Stop()
	s := open(t, cluster.DSN("postgres"), nil)
	_, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_1")})
	unknown(t, err)
	cluster.Start(t)
	insert(t, s, claimed("evt_1"))
}

// A primary that has become a standby is left: its connections are dropped although they are alive.
func TestReadOnlyServerIsLeft(t *testing.T) {
	cluster := testenv.NewCluster(t, testenv.ClusterConfig{})
	dsn := cluster.Database(t)
	s, conn := open(t, dsn, func(c *Config) { c.MaxConns = 1 }), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	pid := backend(t, s)
	readOnly(t, conn, "on")
	_, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_2")})
	unknown(t, err)
	var told *fault
	if !errors.As(err, &told) || told.code != "25006" {
		t.Fatalf("got %v", err)
	}
	eventually(t, "the connection is dropped", func() bool {
		return !ask[bool](t, conn, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", pid)
	})
	_, err = s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_2")})
	unknown(t, err) // no server that takes writes
	readOnly(t, conn, "off")
	if found := insert(t, s, claimed("evt_2")); !found[0].Inserted {
		t.Fatalf("got %+v", found)
	}
}

// readOnly makes the server refuse writes as a standby does, and waits until that is in force.
func readOnly(t *testing.T, conn *pgx.Conn, value string) {
	t.Helper()
	exec(t, conn, "SET default_transaction_read_only = off")
	exec(t, conn, "ALTER SYSTEM SET default_transaction_read_only = "+value)
	exec(t, conn, "SELECT pg_reload_conf()")
	eventually(t, "the setting is in force", func() bool {
		other, err := pgx.ConnectConfig(t.Context(), conn.Config())
		if err != nil {
			return false
		}
		defer other.Close(context.Background())
		return ask[string](t, other, "SHOW default_transaction_read_only") == value
	})
}

func TestOfSeveralHostsTheWritableOneIsUsed(t *testing.T) {
	standby := testenv.NewCluster(t, testenv.ClusterConfig{Settings: map[string]string{"default_transaction_read_only": "on"}})
	primary := testenv.NewCluster(t, testenv.ClusterConfig{})
	dsn := "postgres://postgres@" + standby.Addr() + "," + primary.Addr() + "/postgres?sslmode=disable"
	s := open(t, dsn, nil)
	if found := insert(t, s, claimed("evt_1")); !found[0].Inserted {
		t.Fatalf("got %+v", found)
	}
	conn := connect(t, primary.DSN("postgres"))
	if n := ask[int](t, conn, "SELECT count(*) FROM sidecar_test.receipts"); n != 1 {
		t.Fatalf("the primary has %d rows", n)
	}
}

func TestTerminatedSessionsAreReplaced(t *testing.T) {
	dsn := freshDB(t)
	s, conn := open(t, dsn, nil), connect(t, dsn)
	insert(t, s, claimed("evt_1"))
	exec(t, conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", applicationName)
	eventually(t, "the store works again", func() bool {
		_, err := s.Insert(t.Context(), []dedupe.NewRow{claimed("evt_2")})
		return err == nil
	})
}

// The server crashes and recovers, twice, while two replicas work: no event runs twice, none is lost.
func TestCrashesUnderLoad(t *testing.T) {
	const events, workers, lease = 400, 16, 3 * time.Second
	cluster := testenv.NewCluster(t, testenv.ClusterConfig{Fsync: true})
	dsn := cluster.Database(t)
	var runs counter
	work := make(chan string)
	var group sync.WaitGroup
	for range 2 {
		k := keeper(t, open(t, dsn, nil), lease)
		for range workers / 2 {
			group.Go(func() {
				for id := range work {
					deliverUntilDone(t, k, id, lease, &runs)
				}
			})
		}
	}
	for i := range events {
		if i == events/3 || i == 2*events/3 {
			cluster.Stop()
			cluster.Start(t)
		}
		work <- fmt.Sprintf("evt_%04d", i)
	}
	close(work)
	group.Wait()
	runs.mustBeOne(t, events)
	conn := connect(t, dsn)
	if n := ask[int](t, conn, "SELECT count(*) FROM sidecar_test.receipts WHERE state = 4"); n != events {
		t.Fatalf("%d of %d events have a result", n, events)
	}
}

// counter counts how often each event ran.
type counter struct {
	mu   sync.Mutex
	runs map[string]int
}

func (c *counter) ran(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[string]int{}
	}
	c.runs[id]++
}

func (c *counter) mustBeOne(t *testing.T, events int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range c.runs {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	if len(c.runs) != events {
		t.Errorf("%d of %d events ran", len(c.runs), events)
	}
}

// deliverUntilDone sends an event as a sender does, until it is answered with a result.
func deliverUntilDone(t *testing.T, k *dedupe.Keeper, id string, lease time.Duration, runs *counter) {
	eventually(t, id+" has a result", func() bool {
		decision, err := k.Claim(t.Context(), request(id, lease))
		if err != nil {
			return false
		}
		if decision.Kind == dedupe.Fresh {
			runs.ran(id)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := k.Settle(ctx, decision.Claim, result(decision.Claim, lease)); err != nil {
				t.Errorf("settle %s: %v", id, err)
			}
		}
		return decision.Kind == dedupe.Fresh || decision.Kind == dedupe.Replay
	})
}

func TestErrorsAreJudgedByTheirCode(t *testing.T) {
	s := open(t, "postgres://127.0.0.1:1/none", nil)
	const canary = "canary-of-a-row"
	for _, c := range []struct {
		code string
		rows int
		want error
	}{
		{"55P03", 1, dedupe.ErrBatch}, {"55P03", 9, dedupe.ErrBatch},
		{"22021", 9, dedupe.ErrBatch}, {"22021", 1, dedupe.ErrRow}, {"22021", 0, nil},
		{"23505", 9, dedupe.ErrBatch}, {"23514", 1, dedupe.ErrRow}, {"54000", 1, dedupe.ErrRow},
		{"42P01", 1, ErrSchema}, {"3F000", 1, ErrSchema}, {"42703", 1, ErrSchema},
		{"40P01", 1, nil}, {"40001", 9, nil}, {"25006", 1, nil}, {"57P01", 1, nil}, {"57P03", 1, nil}, {"08006", 1, nil},
		{"53300", 1, nil}, {"57014", 1, nil}, {"XX000", 1, nil},
	} {
		err := s.fault(&pgconn.PgError{Code: c.code, Message: "about " + canary, Detail: canary}, c.rows)
		for _, sentinel := range []error{dedupe.ErrBatch, dedupe.ErrRow, ErrSchema} {
			if errors.Is(err, sentinel) != (sentinel == c.want) {
				t.Errorf("%s with %d rows: %v, want %v", c.code, c.rows, err, c.want)
			}
		}
		if quotes := strings.Contains(err.Error(), canary); quotes && aboutData(c.code) {
			t.Errorf("%s quotes a row: %v", c.code, err)
		}
	}
}

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func number(t *testing.T, dsn, statement string) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.Background())
	var n int
	err = conn.QueryRow(ctx, statement, pgx.QueryExecModeSimpleProtocol).Scan(&n)
	return n, err
}

func TestEveryTestHasADatabaseOfItsOwn(t *testing.T) {
	one, two := Postgres(t), Postgres(t)
	if err := execOn(one, "CREATE TABLE here (n int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := number(t, two, "SELECT count(*) FROM here"); err == nil {
		t.Fatal("the second database has the first one's table")
	}
}

func TestStoppedClusterKeepsItsDataAndAddress(t *testing.T) {
	cluster := NewCluster(t, ClusterConfig{Fsync: true})
	dsn := cluster.Database(t)
	if err := execOn(dsn, "CREATE TABLE here AS SELECT 7 AS n"); err != nil {
		t.Fatal(err)
	}
	cluster.Stop()
	if _, err := number(t, dsn, "SELECT n FROM here"); err == nil {
		t.Fatal("a stopped server answers")
	}
	cluster.Start(t)
	if n, err := number(t, dsn, "SELECT n FROM here"); err != nil || n != 7 {
		t.Fatalf("after the restart: %d, %v", n, err)
	}
}

func TestFrozenClusterIsSilentAndThawedAnswers(t *testing.T) {
	cluster := NewCluster(t, ClusterConfig{})
	dsn := cluster.DSN("postgres")
	cluster.Freeze()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := pgx.Connect(ctx, dsn)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a frozen server: %v", err)
	}
	cluster.Thaw()
	if n, err := number(t, dsn, "SELECT 1"); err != nil || n != 1 {
		t.Fatalf("a thawed server: %d, %v", n, err)
	}
}

// A program dies with the thread that forked it, and any thread may have forked another program before: the sidecar of a test
// must not die because the test stops Redis.
func TestTheEndOfAProgramEndsNoThread(t *testing.T) {
	threads := map[string]bool{}
	for range 20 {
		p, err := launch(exec.Command("sleep", "60"), syscall.SIGKILL)
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range tasks(t) {
			threads[thread] = true
		}
		p.end(syscall.SIGKILL)
	}
	for _, thread := range tasks(t) {
		delete(threads, thread)
	}
	if len(threads) > 0 {
		t.Errorf("%d threads have ended", len(threads))
	}
}

// What a test may listen on is nobody else's: neither another test's nor what the kernel chooses for a stranger.
func TestAnAddressIsItsOwners(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var chosen int // the first port that the kernel chooses
	if _, err := fmt.Sscan(string(text), &chosen); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for range 200 {
		address := Address(t)
		var port int
		if _, err := fmt.Sscanf(address, "127.0.0.1:%d", &port); err != nil || port >= chosen && chosen >= firstPort+ports {
			t.Errorf("%s, and the kernel chooses from %d on: %v", address, chosen, err)
		}
		if name, err := net.Listen("unix", fmt.Sprintf("@webhook-sidecar-test-port-%d", port)); err == nil {
			name.Close()
			t.Errorf("another process could get %s", address)
		}
		if given[address] {
			t.Errorf("%s is given twice", address)
		}
		given[address] = true
		for range 2 { // also after somebody has stopped listening
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			listener.Close()
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Errorf("somebody answers at %s", address)
		}
	}
}

func tasks(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d threads, %v", len(found), err)
	}
	return found
}

func TestPgBouncerServesTheDatabase(t *testing.T) {
	dsn := Postgres(t)
	if err := execOn(dsn, "CREATE TABLE here AS SELECT 9 AS n"); err != nil {
		t.Fatal(err)
	}
	if n, err := number(t, PgBouncer(t, dsn), "SELECT n FROM here"); err != nil || n != 9 {
		t.Fatalf("through PgBouncer: %d, %v", n, err)
	}
}

func TestRedisStopsAndStarts(t *testing.T) {
	server := NewRedis(t)
	answers(t, server)
	server.Stop()
	if err := server.ping(); err == nil {
		t.Fatal("a stopped Redis answers")
	}
	server.Start(t)
	server.Freeze()
	if err := server.ping(); err == nil {
		t.Fatal("a frozen Redis answers")
	}
	server.Thaw()
	answers(t, server)
}

// answers waits for Redis, which has a second for each answer.
func answers(t *testing.T, server *RedisServer) {
	t.Helper()
	if err := await(server.process, server.logPath(), server.ping); err != nil {
		t.Fatal(err)
	}
}

func TestTapCutsAfterTheServiceHasActed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	heard := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 5)
		_, _ = io.ReadFull(conn, buffer)
		heard <- string(buffer)
		_, _ = conn.Write([]byte("a reply"))
	}()
	tap := NewTap(t, listener.Addr().String())
	cut := tap.CutBeforeReply([]byte("reply"))
	conn, err := net.Dial("tcp", tap.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("order")); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if len(answer) != 0 {
		t.Fatalf("the client heard %q, %v", answer, err)
	}
	if got := <-heard; got != "order" {
		t.Fatalf("the service heard %q", got)
	}
	<-cut
}

// A test process that panics takes its services with it.
func TestServicesEndWithAPanickingProcess(t *testing.T) {
	if os.Getenv("TESTENV_PANIC") != "" {
		cluster := NewCluster(t, ClusterConfig{})
		if err := os.WriteFile(os.Getenv("TESTENV_PANIC"), []byte(cluster.dir), 0o600); err != nil {
			t.Fatal(err)
		}
		go panic("on purpose")
		select {}
	}
	note := t.TempDir() + "/dir"
	cmd := exec.Command(os.Args[0], "-test.run=^TestServicesEndWithAPanickingProcess$")
	cmd.Env = append(os.Environ(), "TESTENV_PANIC="+note)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("the process did not panic:\n%s", out)
	}
	dir, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err := os.Stat(string(dir)); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestTapLosesTheRepliesToARequest(t *testing.T) {
	dsn := Postgres(t)
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	tap := NewTap(t, parsed.Host)
	tap.SwallowRepliesTo([]byte("canary"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, tap.Through(t, dsn))
	if err != nil {
		t.Fatalf("a connection that does not mention it: %v", err)
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE told (word text)"); err != nil {
		t.Fatalf("a statement that does not mention it: %v", err)
	}
	told := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, "INSERT INTO told VALUES ($1)", "canary")
		told <- err
	}()
	for n := 0; n == 0; {
		if n, err = number(t, dsn, "SELECT count(*) FROM told"); err != nil || n > 1 || ctx.Err() != nil {
			t.Fatalf("the server did it %d times, %v", n, err)
		}
	}
	select {
	case err := <-told:
		t.Errorf("the reply arrived: %v", err)
	case <-time.After(300 * time.Millisecond): // a reply would come at once
		cancel()
		<-told
	}
}

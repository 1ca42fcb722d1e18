package testenv

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RedisServer is a redis-server of a test's own, in memory only.
type RedisServer struct {
	Port int

	dir     string
	program string
	extra   []string
	process *process
}

// Redis returns the address (redis://…) of a fresh server that is ended with the test.
func Redis(t testing.TB) string {
	t.Helper()
	return NewRedis(t).URL()
}

// NewRedis starts a server with further settings, as on redis-server's command line ("--maxmemory", "1mb").
func NewRedis(t testing.TB, settings ...string) *RedisServer {
	t.Helper()
	program := binary(t, "redis-server")
	dir, err := workDir(nil)
	if err != nil {
		t.Fatalf("Redis' directory: %v", err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatalf("a port for Redis: %v", err)
	}
	server := &RedisServer{Port: port, dir: dir, program: program, extra: settings}
	server.Start(t)
	t.Cleanup(server.Stop)
	return server
}

// Start starts the server (again) on the same port, empty, and waits until it answers.
func (r *RedisServer) Start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(r.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("Redis' log: %v", err)
	}
	defer log.Close()
	arguments := append([]string{"--port", fmt.Sprint(r.Port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", r.dir}, r.extra...)
	cmd := exec.Command(r.program, arguments...)
	cmd.Stdout, cmd.Stderr = log, log
	if r.process, err = launch(cmd, syscall.SIGKILL); err != nil {
		t.Fatalf("Redis: %v", err)
	}
	if err := await(r.process, r.logPath(), r.ping); err != nil {
		t.Fatalf("Redis: %v", err)
	}
}

func (r *RedisServer) logPath() string { return filepath.Join(r.dir, "log") }

// Addr is the server's host and port.
func (r *RedisServer) Addr() string { return fmt.Sprintf("127.0.0.1:%d", r.Port) }

// URL is the server's address as REDIS_URL has it.
func (r *RedisServer) URL() string { return "redis://" + r.Addr() + "/0" }

// Stop kills the server.
func (r *RedisServer) Stop() { r.process.end(syscall.SIGKILL) }

// Freeze stops the process where it stands: connections stay open and nothing answers.
func (r *RedisServer) Freeze() { r.process.signalTree(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (r *RedisServer) Thaw() { r.process.signalTree(syscall.SIGCONT) }

// ping asks for any answer: a server with a password refuses PING and is up.
func (r *RedisServer) ping() error {
	conn, err := net.DialTimeout("tcp", r.Addr(), time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return fmt.Errorf("Redis is not ready")
	}
	return nil
}

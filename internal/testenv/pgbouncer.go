package testenv

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const bouncerConfig = `[databases]
* = host=%s port=%s user=postgres

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_reset_query =
max_client_conn = 200
`

// PgBouncer starts a pooler in transaction mode with three server connections in front of a database, and returns the
// database's address through it. It is ended with the test.
func PgBouncer(t testing.TB, dsn string) string {
	t.Helper()
	program := binary(t, "pgbouncer")
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("PgBouncer: the database's address is no URL")
	}
	owner := serviceUser(t)
	dir, err := workDir(owner)
	if err != nil {
		t.Fatalf("PgBouncer's directory: %v", err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatalf("a port for PgBouncer: %v", err)
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(bouncerConfig, address.Hostname(), address.Port(), port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatalf("PgBouncer's configuration: %v", err)
	}
	logPath := filepath.Join(dir, "log")
	log, err := os.Create(logPath)
	if err != nil {
		t.Fatalf("PgBouncer's log: %v", err)
	}
	defer log.Close()
	cmd := as(exec.Command(program, config), owner, dir)
	cmd.Stdout, cmd.Stderr = log, log
	bouncer, err := launch(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("PgBouncer: %v", err)
	}
	t.Cleanup(func() { bouncer.end(syscall.SIGKILL) })
	address.Host = fmt.Sprintf("127.0.0.1:%d", port)
	through := address.String()
	if err := await(bouncer, logPath, func() error { return execOn(through, "SELECT 1") }); err != nil {
		t.Fatalf("PgBouncer: %v", err)
	}
	return through
}

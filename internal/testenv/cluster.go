package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ClusterConfig is how a PostgreSQL cluster is set up. The zero value is the fast one: nothing survives a power cut.
type ClusterConfig struct {
	Fsync    bool              // as in production
	Settings map[string]string // further settings of the server
}

// Cluster is a PostgreSQL server of a test's own, with trust authentication for the user postgres.
type Cluster struct {
	Port int

	owner   *user.User
	dir     string
	data    string
	server  string
	config  ClusterConfig
	process *process
	names   atomic.Int64
}

// NewCluster starts a server that is ended with the test.
func NewCluster(t testing.TB, config ClusterConfig) *Cluster {
	t.Helper()
	cluster := makeCluster(t, config)
	t.Cleanup(cluster.Stop)
	return cluster
}

func makeCluster(t testing.TB, config ClusterConfig) *Cluster {
	t.Helper()
	initdb, server := binary(t, "initdb"), binary(t, "postgres")
	owner := serviceUser(t)
	dir, err := workDir(owner)
	if err != nil {
		t.Fatalf("PostgreSQL's directory: %v", err)
	}
	c := &Cluster{owner: owner, dir: dir, data: filepath.Join(dir, "data"), server: server, config: config}
	init := as(exec.Command(initdb, "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8",
		"--locale=C", "--pgdata="+c.data), owner, dir)
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	if c.Port, err = freePort(); err != nil {
		t.Fatalf("a port for PostgreSQL: %v", err)
	}
	c.Start(t)
	return c
}

// Start starts the server (again), on the same port and data, and waits until it answers.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(c.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatalf("PostgreSQL's log: %v", err)
	}
	defer log.Close()
	cmd := as(exec.Command(c.server, c.arguments()...), c.owner, c.dir)
	cmd.Stdout, cmd.Stderr = log, log
	if c.process, err = launch(cmd, syscall.SIGQUIT); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
	if err := await(c.process, c.logPath(), func() error { return c.exec("SELECT 1") }); err != nil {
		t.Fatalf("PostgreSQL: %v", err)
	}
}

func (c *Cluster) arguments() []string {
	arguments := []string{"-D", c.data, "-p", fmt.Sprint(c.Port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=300", "-c", "log_statement=none"}
	if !c.config.Fsync {
		arguments = append(arguments, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	for name, value := range c.config.Settings {
		arguments = append(arguments, "-c", name+"="+value)
	}
	return arguments
}

func (c *Cluster) logPath() string { return filepath.Join(c.dir, "log") }

// Stop ends the server at once, as a crash does: clients are cut off and the next start recovers.
func (c *Cluster) Stop() { c.process.end(syscall.SIGQUIT) }

// Restart is a stop that lets transactions be cut off but not lost, and a start: what an administrator does.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.process.end(syscall.SIGINT)
	c.Start(t)
}

// Freeze stops every process of the server where it stands: connections stay open and nothing answers.
func (c *Cluster) Freeze() { c.process.signalTree(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (c *Cluster) Thaw() { c.process.signalTree(syscall.SIGCONT) }

// Addr is the server's host and port.
func (c *Cluster) Addr() string { return fmt.Sprintf("127.0.0.1:%d", c.Port) }

// DSN is the address of a database of the server.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", c.Addr(), database)
}

// Database makes a fresh database, which is dropped with the test, and returns its address.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), c.names.Add(1))
	if err := c.exec("CREATE DATABASE " + name); err != nil {
		t.Fatalf("a fresh database: %v", err)
	}
	t.Cleanup(func() { _ = c.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") }) // or the server is gone
	return c.DSN(name)
}

// exec runs a statement in the database postgres.
func (c *Cluster) exec(statement string) error { return execOn(c.DSN("postgres"), statement) }

func execOn(dsn, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

// CPU is the CPU time that all processes of the server have used so far, by the operating system's accounting.
func (c *Cluster) CPU(t testing.TB) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, pid := range c.process.tree() {
		sum += cpu(pid)
	}
	return sum
}

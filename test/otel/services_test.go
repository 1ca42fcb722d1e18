package otel

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// password is that of both services. It must not be told to anybody.
const password = "canary-password-of-a-service"

// postgres starts a server with a password and returns its DATABASE_URL. This module has nothing of the product's, so it
// does by hand what internal/testenv does there.
func postgres(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: make test installs it")
	}
	server := found[len(found)-1]
	dir, err := os.MkdirTemp("", "sidecar-otel-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	asOwner := owner(t, dir)
	data, secretFile := filepath.Join(dir, "data"), write(t, filepath.Join(dir, "password"), password)
	if err := os.Chmod(secretFile, 0o644); err != nil { // the server's user reads it
		t.Fatal(err)
	}
	initdb := asOwner(exec.Command(filepath.Join(filepath.Dir(server), "initdb"), "--no-sync", "--auth=scram-sha-256", "--username=postgres",
		"--pwfile="+secretFile, "--encoding=UTF8", "--locale=C", "--pgdata="+data))
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	listen := address(t)
	_, port, _ := net.SplitHostPort(listen)
	background(t, asOwner(exec.Command(server, "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "fsync=off")), syscall.SIGQUIT)
	accepts(t, listen)
	return fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", password, listen)
}

// owner gives the folder to the user under whom PostgreSQL runs, and lets commands run as that user.
func owner(t *testing.T, dir string) func(*exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		return func(c *exec.Cmd) *exec.Cmd { c.Dir = dir; return c }
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("PostgreSQL does not run as root, and there is no user postgres: %v", err)
	}
	uid, _ := strconv.Atoi(found.Uid)
	gid, _ := strconv.Atoi(found.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return func(c *exec.Cmd) *exec.Cmd {
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return c
	}
}

// redis starts a server with a password and returns its REDIS_URL.
func redis(t *testing.T) string {
	t.Helper()
	listen := address(t)
	_, port, _ := net.SplitHostPort(listen)
	background(t, exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--requirepass", password), syscall.SIGKILL)
	accepts(t, listen)
	return "redis://:" + password + "@" + listen + "/0"
}

// accepts waits until a service takes connections: a Redis that is away at the start would not be asked again for a while,
// and the test be over.
func accepts(t *testing.T, address string) {
	t.Helper()
	await(t, address, func() error {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
		}
		return err
	})
}

// background runs a command until the test ends.
func background(t *testing.T, command *exec.Cmd, end syscall.Signal) {
	t.Helper()
	log := &output{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(end)
		command.Wait()
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(command.Path), log.String())
		}
	})
}

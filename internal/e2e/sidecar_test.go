package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// binary is the program under test, built once.
var binary = sync.OnceValues(func() (string, error) {
	if err := lookAtSources(); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sidecar-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sidecar")
	build := exec.Command("go", "build", "-tags=grpcnotrace", "-o", path, "../../cmd/sidecar")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// lookAtSources has the go command know what these tests depend on: it looks again at the folders that a test has read, and
// otherwise takes the results of a program that has changed since from its cache.
func lookAtSources() error {
	return filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != "../.." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
}

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// sidecar is one process of the product.
type sidecar struct {
	dir    string
	env    map[string]string
	public string
	admin  string
	log    *logBuffer
	cmd    *exec.Cmd
	ended  <-chan struct{}
}

// logBuffer takes in what a process writes. Safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newSidecar prepares a process with the integrations file yaml and settings; start starts it.
func newSidecar(t *testing.T, yaml string, env map[string]string) *sidecar {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sidecar.yaml"), yaml)
	s := &sidecar{dir: dir, public: testenv.Address(t), admin: testenv.Address(t), log: &logBuffer{}}
	s.env = map[string]string{
		"SIDECAR_LISTEN":           s.public,
		"SIDECAR_ADMIN_LISTEN":     s.admin,
		"SIDECAR_PROBE_LISTEN":     testenv.Address(t),
		"SIDECAR_CONFIG":           filepath.Join(dir, "sidecar.yaml"),
		"SIDECAR_DRAIN_DELAY":      "50ms",
		"SIDECAR_SHUTDOWN_TIMEOUT": "5s",
		"SIDECAR_RELOAD_INTERVAL":  "100ms",
	}
	maps.Copy(s.env, env)
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command prepares the binary with arguments in the sidecar's surroundings.
func (s *sidecar) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// run runs a command of the binary to its end.
func (s *sidecar) run(t *testing.T, args ...string) (exit int, output string) {
	t.Helper()
	cmd := s.command(t, args...)
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// start starts the process and waits until it is ready.
func (s *sidecar) start(t *testing.T) *sidecar {
	t.Helper()
	s.launch(t)
	await(t, "readiness", func() error {
		select {
		case <-s.ended:
			t.Fatalf("the sidecar ended: %s", s.log)
		default:
		}
		answer, err := http.Get("http://" + s.admin + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(answer.Body)
			return fmt.Errorf("/readyz is %d: %s", answer.StatusCode, text)
		}
		return nil
	})
	return s
}

func (s *sidecar) launch(t *testing.T) {
	t.Helper()
	cmd := s.command(t, "run")
	cmd.Stdout, cmd.Stderr = s.log, s.log
	ended, err := testenv.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	s.cmd, s.ended = cmd, ended
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", s.public, lastLines(s.log.String(), 40))
		}
	})
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// kill ends the process as kill -9 does.
func (s *sidecar) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

func (s *sidecar) signal(sig syscall.Signal) { s.cmd.Process.Signal(sig) }

// await polls what only another process can tell, until check has no complaint.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// application is what stands behind the sidecar: it answers by event and remembers what it saw.
type application struct {
	*http.Server
	address string

	mu      sync.Mutex
	seen    map[string][]string // idempotency key → attempts
	answers map[string]func(w http.ResponseWriter, r *http.Request, run int)
	arrived chan string
}

func newApplication(t *testing.T) *application {
	t.Helper()
	listener, err := net.Listen("tcp", testenv.Address(t)) // nobody takes it when the application is gone
	if err != nil {
		t.Fatal(err)
	}
	a := &application{
		address: listener.Addr().String(),
		seen:    map[string][]string{},
		answers: map[string]func(http.ResponseWriter, *http.Request, int){},
		arrived: make(chan string, 1<<16),
	}
	a.Server = &http.Server{Handler: a}
	go a.Serve(listener)
	t.Cleanup(func() { a.Close() })
	return a
}

// on scripts the answers for an event; run counts from 1.
func (a *application) on(event string, answer func(w http.ResponseWriter, r *http.Request, run int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[event] = answer
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	key := r.Header.Get("Idempotency-Key")
	a.mu.Lock()
	a.seen[key] = append(a.seen[key], r.Header.Get("Sidecar-Attempt"))
	run, answer := len(a.seen[key]), a.answers[key]
	a.mu.Unlock()
	a.arrived <- key
	if answer != nil {
		answer(w, r, run)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s run %d", key, run)
}

// attempts are the numbers under which an event arrived, in order.
func (a *application) attempts(event string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen[event])
}

// await waits until an event arrives.
func (a *application) await(t *testing.T, event string) {
	t.Helper()
	timeout, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for {
		select {
		case key := <-a.arrived:
			if key == event {
				return
			}
		case <-timeout.Done():
			t.Fatalf("event %s did not reach the application", event)
		}
	}
}

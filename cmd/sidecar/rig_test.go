package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// patience bounds every wait for another process.
const patience = 20 * time.Second

// The keys of the rig's integration acme/orders.
const (
	firstKey  = "first-key-0123456789abcdef0123456789"
	secondKey = "second-key-0123456789abcdef012345678"
)

// rig is an application, and a folder with the configuration of the sidecars before it.
type rig struct {
	t     *testing.T
	dir   string
	app   *httptest.Server
	env   map[string]string
	mu    sync.Mutex
	serve http.HandlerFunc // what the application does
	seen  []string         // idempotency keys, in their order
}

// newRig makes one whose application answers 200.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	r.serve = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done") }
	r.app = httptest.NewServer(http.HandlerFunc(r.handle))
	t.Cleanup(r.app.Close)
	r.write("first", firstKey)
	r.write("second", secondKey)
	r.configure(orders("{id: k1, secret: {file: first}}"))
	r.env = map[string]string{
		asSidecar: "1", "SIDECAR_LISTEN": testenv.Address(t), "SIDECAR_ADMIN_LISTEN": testenv.Address(t), "SIDECAR_PROBE_LISTEN": testenv.Address(t),
		"SIDECAR_UPSTREAM": r.app.URL, "SIDECAR_CONFIG": r.path("sidecar.yaml"), "DATABASE_URL": "sqlite:" + r.path("ledger.db"),
		"SIDECAR_RELOAD_INTERVAL": "200ms", "SIDECAR_DRAIN_DELAY": "0s", "SIDECAR_SHUTDOWN_TIMEOUT": "10s",
	}
	return r
}

// orders is the integration acme/orders with credentials and more lines.
func orders(credentials string, lines ...string) string {
	text := `integrations:
  - account: acme
    name: orders
    route: /hooks/orders
    provider: hmac
    hmac: {header: X-Signature, signed: "{body}"}
    event: {id: {json: /id}}
    timeout: 10s
    lease: 20s
    credentials: [` + credentials + "]\n"
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	return text
}

func (r *rig) handle(w http.ResponseWriter, q *http.Request) {
	_, _ = io.Copy(io.Discard, q.Body) // only then the server notices that its client has gone
	r.mu.Lock()
	serve := r.serve
	if key := q.Header.Get("Idempotency-Key"); key != "" {
		r.seen = append(r.seen, key+"#"+q.Header.Get("Sidecar-Attempt"))
	}
	r.mu.Unlock()
	serve(w, q)
}

// answer changes what the application does.
func (r *rig) answer(serve http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serve = serve
}

// runs are the attempts that the application has seen.
func (r *rig) runs() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.seen, " ")
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// write replaces a file at once, so that nobody reads half of it.
func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := replaceFile(r.path(name), text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) configure(text string) { r.write("sidecar.yaml", text) }

// environment is the rig's and nothing of this process's own.
func (r *rig) environment(more map[string]string) []string {
	all := maps.Clone(r.env)
	maps.Copy(all, more)
	// The race detector would sleep for a second at the end of every command.
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GORACE=atexit_sleep_ms=0"}
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	return env
}

// command runs the sidecar to its end.
func (r *rig) command(stdin string, args ...string) (status int, out string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env, cmd.Dir, cmd.Stdin = r.environment(nil), r.dir, strings.NewReader(stdin)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		r.t.Fatalf("sidecar %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// must runs a command that has to succeed.
func (r *rig) must(args ...string) string {
	r.t.Helper()
	status, out := r.command("", args...)
	if status != 0 {
		r.t.Fatalf("sidecar %v: exit %d: %s", args, status, out)
	}
	return out
}

// process is a running sidecar.
type process struct {
	r      *rig
	cmd    *exec.Cmd
	env    map[string]string
	log    *syncBuffer
	ended  chan struct{}
	status int
}

// start starts a sidecar; ready waits for it.
func (r *rig) start(more map[string]string) *process {
	r.t.Helper()
	p := &process{r: r, log: &syncBuffer{}, ended: make(chan struct{}), env: maps.Clone(r.env)}
	maps.Copy(p.env, more)
	p.cmd = exec.Command(os.Args[0], "run")
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = r.environment(more), r.dir, p.log, p.log
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		p.status = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if r.t.Failed() {
			r.t.Logf("log of the sidecar:\n%s", p.log)
		}
	})
	return p
}

// run starts a sidecar and waits until it is ready.
func (r *rig) run() *process {
	r.t.Helper()
	p := r.start(nil)
	p.ready()
	return p
}

func (p *process) ready() {
	p.r.t.Helper()
	p.eventually("the sidecar to be ready", func() error {
		select {
		case <-p.ended:
			p.r.t.Fatalf("the sidecar ended with %d: %s", p.status, p.log)
		default:
		}
		if status, body := p.admin("/readyz"); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
}

// eventually polls a condition that depends on another process.
func (p *process) eventually(what string, condition func() error) {
	p.r.t.Helper()
	ctx, cancel := context.WithTimeout(p.r.t.Context(), patience)
	defer cancel()
	if err := await(ctx, condition); err != nil {
		p.r.t.Fatalf("waited in vain for %s: %v", what, err)
	}
}

// end waits for the end and returns the exit status.
func (p *process) end() int {
	p.r.t.Helper()
	select {
	case <-p.ended:
		return p.status
	case <-time.After(patience):
		p.r.t.Fatal("the sidecar does not end")
		return -1
	}
}

func (p *process) signal(s syscall.Signal) {
	p.r.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.r.t.Fatal(err)
	}
}

// admin asks the admin listener; status 0 means no answer.
func (p *process) admin(path string) (int, string) {
	return get("http://" + p.env["SIDECAR_ADMIN_LISTEN"] + path)
}

func get(url string) (int, string) {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	answer := do(request)
	if answer.err != nil {
		return 0, answer.err.Error()
	}
	return answer.status, answer.body
}

// deliver sends a signed event and returns status and receipt.
func (p *process) deliver(id, key string) string {
	return p.post(id, key).String()
}

func (p *process) post(id, key string) demoAnswer {
	p.r.t.Helper()
	body := fmt.Sprintf(`{"id":%q}`, id)
	set, err := config.LoadIntegrations("x.yaml", config.Source{
		ReadFile: func(path string) ([]byte, error) {
			if path == "x.yaml" {
				return []byte(orders("{id: k, secret: {file: key}}")), nil
			}
			return []byte(key), nil
		},
	})
	if err != nil {
		p.r.t.Fatal(err)
	}
	i, verifier := set.Integrations[0], set.Verifier("acme/orders")
	header, err := signed(i, verifier, []byte(body), "", "")
	if err != nil {
		p.r.t.Fatal(err)
	}
	return post(p.r.t.Context(), "http://"+p.env["SIDECAR_LISTEN"]+i.Route, header, body)
}

// syncBuffer is a log that is written and read at once.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// occupied is an address where somebody else listens.
func occupied(t *testing.T, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return address // somebody does already
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// preset is a preset by name.
func preset(t *testing.T, name string) verify.Preset {
	t.Helper()
	found, known := verify.LookupPreset(name)
	if !known {
		t.Fatalf("no preset %s", name)
	}
	return found
}

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

const (
	scope = "acme/payments"
	route = "/webhooks/acme/payments"
	// slowRoute is that of the other integration, where there is one. The application answers it as slowly as it is told to.
	slowRoute = "/webhooks/acme/reports"
	secret    = "whsec_bench_0123456789abcdef0123456789abcdef" //nolint:gosec // of this benchmark only
)

const integrations = `integrations:
  - account: acme
    name: payments
    route: %s
    provider: stripe
    credentials:
      - {id: bench, secret: {file: %s}, status: active}
`

// sidecarConfig is what differs between the sidecars of a run.
type sidecarConfig struct {
	name, program, namespace  string
	upstream, database, redis string
	extra                     []string // of the environment
	lines                     string   // more of the integration
	log                       string   // file; empty: the plan's
}

// sidecar is the shipped program, with metrics on and tracing configured but not sampled.
type sidecar struct {
	*process
	probe       string
	idle        memory
	program     string
	environment []string
}

func (s *stage) sidecar(c sidecarConfig, collector string) *sidecar {
	file := s.configure(c.name, c.lines)
	address, probe := testenv.Address(s), testenv.Address(s)
	cmd := exec.Command(c.program, "run")
	cmd.Env = append([]string{
		"SIDECAR_LISTEN=" + address, "SIDECAR_ADMIN_LISTEN=" + testenv.Address(s), "SIDECAR_PROBE_LISTEN=" + probe,
		"SIDECAR_UPSTREAM=http://" + c.upstream, "SIDECAR_NAMESPACE=" + c.namespace, "SIDECAR_CONFIG=" + file,
		"SIDECAR_GUARD=/webhooks", "DATABASE_URL=" + c.database, "REDIS_URL=" + c.redis, "SIDECAR_LOG_LEVEL=info",
		"SIDECAR_DRAIN_DELAY=0s", "SIDECAR_SHUTDOWN_TIMEOUT=2s", "GOMEMLIMIT=" + s.plan.memoryLimit,
		"OTEL_SERVICE_NAME=sidecar", "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + collector, "OTEL_TRACES_SAMPLER=parentbased_always_off",
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir(),
	}, c.extra...)
	if c.log == "" {
		c.log = s.plan.log
	}
	log, err := os.OpenFile(c.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	s.must("the sidecar's log", err)
	defer log.Close()
	cmd.Stdout = log
	cmd.Stderr = log
	r := &sidecar{process: s.launch(c.name, address, cmd), probe: "http://" + probe, program: c.program, environment: cmd.Env}
	s.awaitReady(r)
	return r
}

// configure writes the integrations file of a sidecar, which follows while it runs. Lines may name the secret's file: %[2]s.
func (s *stage) configure(name, lines string) (file string) {
	secretFile, file := s.dir()+"/secret", s.dir()+"/"+strings.ReplaceAll(name, " ", "-")+".yaml"
	s.must("the secret", os.WriteFile(secretFile, []byte(secret), 0o600))
	s.must("the integrations", os.WriteFile(file, fmt.Appendf(nil, integrations+lines, route, secretFile), 0o600))
	return file
}

// awaitReady waits until the sidecar says so.
func (s *stage) awaitReady(r *sidecar) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := r.page(s, "/readyz")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s is not ready: %v", r.name, err)
		}
		s.pause(50 * time.Millisecond)
	}
}

// page gets a page of the probe listener.
func (r *sidecar) page(s *stage, path string) (string, error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, r.probe+path, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return string(text), err
}

// collector takes what is exported and counts it. Nothing should be: nothing is sampled.
func (s *stage) collector() (string, *atomic.Int64) {
	listener, err := (&net.ListenConfig{}).Listen(s.ctx, "tcp", "127.0.0.1:0")
	s.must("a collector", err)
	var exported atomic.Int64
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/traces") {
			exported.Add(1)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	s.Cleanup(func() { server.Close() })
	return listener.Addr().String(), &exported
}

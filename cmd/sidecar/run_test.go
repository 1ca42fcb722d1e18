package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func TestOneResultPerEvent(t *testing.T) {
	r := newRig(t)
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Errorf("first: %s", got)
	}
	if got := p.post("evt-1", firstKey); got.String() != "200 replayed" || !got.replayed || got.body != "done" {
		t.Errorf("duplicate: %+v", got)
	}
	if got := p.deliver("evt-2", "some-other-key-0123456789abcdef0123"); got != "401" {
		t.Errorf("strange key: %s", got)
	}
	if status, body := get("http://" + p.env["SIDECAR_LISTEN"] + "/elsewhere"); status != 200 || body != "done" {
		t.Errorf("another path: %d %s", status, body)
	}
	if r.runs() != "evt-1#1" {
		t.Errorf("the application has run %s", r.runs())
	}
}

func TestTheLedgerSurvivesARestart(t *testing.T) {
	r := newRig(t)
	p := r.run()
	p.deliver("evt-1", firstKey)
	p.signal(syscall.SIGTERM)
	if status := p.end(); status != 0 {
		t.Errorf("exit %d", status)
	}
	if got := r.run().deliver("evt-1", firstKey); got != "200 replayed" {
		t.Errorf("after the restart: %s", got)
	}
}

func TestSIGTERMFinishesWhatIsInFlight(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_DRAIN_DELAY"] = "3s" // time to see it
	r.configure(strings.Replace(orders("{id: k1, secret: {file: first}}"), "timeout: 10s\n    lease: 20s", "timeout: 60s\n    lease: 90s", 1))
	arrived, release := make(chan struct{}), make(chan struct{})
	r.answer(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Idempotency-Key") == "evt-slow" {
			close(arrived)
			<-release
		}
		_, _ = io.WriteString(w, "done")
	})
	p := r.run()
	slow := make(chan string, 1)
	go func() { slow <- p.deliver("evt-slow", firstKey) }()
	<-arrived
	p.signal(syscall.SIGTERM)
	p.eventually("readiness to go", func() error {
		if status, body := p.admin("/readyz"); status != 503 || !strings.Contains(body, "draining") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	if got := p.deliver("evt-during", firstKey); got != "200 applied" {
		t.Errorf("during the drain delay: %s", got)
	}
	p.eventually("the listener to close", func() error {
		conn, err := net.Dial("tcp", p.env["SIDECAR_LISTEN"])
		if err == nil {
			_ = conn.Close()
			return fmt.Errorf("still listening")
		}
		return nil
	})
	select {
	case <-p.ended:
		t.Fatal("the sidecar ended while an attempt was running")
	default:
	}
	close(release)
	if got := <-slow; got != "200 applied" {
		t.Errorf("what was in flight: %s", got)
	}
	if status := p.end(); status != 0 {
		t.Errorf("exit %d", status)
	}
}

func TestTheShutdownTimeoutIsABound(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_SHUTDOWN_TIMEOUT"] = "300ms"
	r.configure(strings.Replace(orders("{id: k1, secret: {file: first}}"), "timeout: 10s\n    lease: 20s", "timeout: 30s\n    lease: 40s", 1))
	arrived := make(chan struct{})
	r.answer(func(_ http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Idempotency-Key") != "" {
			close(arrived)
			<-q.Context().Done()
		}
	})
	p := r.run()
	go p.deliver("evt-1", firstKey)
	<-arrived
	began := time.Now()
	p.signal(syscall.SIGTERM)
	if status := p.end(); status != 0 || time.Since(began) > 10*time.Second {
		t.Errorf("exit %d after %s", status, time.Since(began))
	}
	if !strings.Contains(p.log.String(), "not everything in flight was finished in time") {
		t.Error("nobody says that something was cut off")
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_DRAIN_DELAY"] = "1h"
	p := r.run()
	p.signal(syscall.SIGTERM)
	p.eventually("readiness to go", func() error {
		if status, _ := p.admin("/readyz"); status != 503 {
			return fmt.Errorf("%d", status)
		}
		return nil
	})
	p.signal(syscall.SIGTERM)
	if status := p.end(); status != 1 {
		t.Errorf("exit %d", status)
	}
}

func TestATakenPortIsFatalAndNamed(t *testing.T) {
	for _, name := range []string{"SIDECAR_LISTEN", "SIDECAR_ADMIN_LISTEN", "SIDECAR_PROBE_LISTEN"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			taken := occupied(t, "127.0.0.1:0")
			p := r.start(map[string]string{name: taken})
			if status := p.end(); status != 1 || !strings.Contains(p.log.String(), name+": "+taken+" is in use by another process") {
				t.Errorf("exit %d: %s", status, p.log)
			}
		})
	}
}

func TestOnlyTheDefaultProbePortMayBeTaken(t *testing.T) {
	r := newRig(t)
	delete(r.env, "SIDECAR_PROBE_LISTEN")
	occupied(t, ":8702")
	p := r.run()
	if !strings.Contains(p.log.String(), "the probes stay on the admin listener") {
		t.Errorf("nobody says so: %s", p.log)
	}
	if got := p.deliver("evt-1", firstKey); got != "200 applied" {
		t.Errorf("it does not serve: %s", got)
	}
}

func TestReadinessAwaitsTheApplicationOnce(t *testing.T) {
	r := newRig(t)
	address := testenv.Address(t)
	p := r.start(map[string]string{"SIDECAR_UPSTREAM": "http://" + address})
	p.eventually("it to say what it lacks", func() error {
		if status, body := p.admin("/readyz"); status != 503 || !strings.Contains(body, "application") {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	if status, _ := p.admin("/livez"); status != 200 {
		t.Errorf("/livez: %d", status)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p.ready()
	_ = listener.Close()
	if got := p.deliver("evt-1", firstKey); got != "502 retryable" {
		t.Errorf("without the application: %s", got)
	}
	if status, _ := p.admin("/readyz"); status != 200 {
		t.Errorf("an application that is away takes the pod out: %d", status)
	}
}

func TestALedgerOutOfReachIsNoReasonNotToStart(t *testing.T) {
	r := newRig(t)
	r.env["DATABASE_URL"] = "postgres://nobody@" + testenv.Address(t) + "/x?connect_timeout=1"
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "503" {
		t.Errorf("a delivery: %s", got)
	}
	if got := p.deliver("evt-1", "some-other-key-0123456789abcdef0123"); got != "401" {
		t.Errorf("a forged one: %s", got)
	}
	if status, _ := get("http://" + p.env["SIDECAR_LISTEN"] + "/open"); status != 200 {
		t.Errorf("another path: %d", status)
	}
	if _, body := p.admin("/api/v1/status"); !strings.Contains(body, `"reachable": false`) {
		t.Errorf("the status does not say so: %s", body)
	}
}

// A ledger that neither answers nor refuses must not keep a person from what the sidecar knows by itself, nor a probe, nor
// whoever scrapes.
func TestASilentLedgerKeepsNobodyWaiting(t *testing.T) {
	r := newRig(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections; nobody reads them
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r.env["DATABASE_URL"] = "postgres://u@" + silent.Addr().String() + "/db?sslmode=disable&connect_timeout=60"
	p := r.run()
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/api/v1/status"} {
		began := time.Now()
		status, body := p.admin(path)
		if took := time.Since(began); status != http.StatusOK || took > 8*time.Second { // whoever waits for the ledger waits for 10 s
			t.Errorf("%s: %d after %v", path, status, took)
		}
		if path == "/api/v1/status" && !strings.Contains(body, `"reachable": false`) {
			t.Errorf("got %s", body)
		}
	}
}

// Nor may it keep the process from ending in time.
func TestASilentLedgerDoesNotHoldUpTheEnd(t *testing.T) {
	r := newRig(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	r.env["DATABASE_URL"] = "postgres://u@" + silent.Addr().String() + "/db?sslmode=disable&connect_timeout=60"
	r.env["SIDECAR_SHUTDOWN_TIMEOUT"] = "1s"
	p := r.run()
	if got := p.deliver("evt-1", firstKey); got != "503" {
		t.Errorf("got %s", got)
	}
	began := time.Now()
	p.signal(syscall.SIGTERM)
	if status := p.end(); status != 0 || time.Since(began) > 1*time.Second+lastWait+4*time.Second {
		t.Errorf("exit %d after %v: %s", status, time.Since(began), p.log)
	}
}

func TestAnEmbeddedLedgerHasOneOwner(t *testing.T) {
	r := newRig(t)
	r.run()
	second := r.start(map[string]string{
		"SIDECAR_LISTEN": testenv.Address(t), "SIDECAR_ADMIN_LISTEN": testenv.Address(t), "SIDECAR_PROBE_LISTEN": testenv.Address(t),
	})
	if status := second.end(); status != 1 || !strings.Contains(second.log.String(), "another process holds it") {
		t.Errorf("exit %d: %s", status, second.log)
	}
	status, out := r.command("", "receipts", "list")
	if status != 1 || !strings.Contains(out, "ask the running sidecar at http://"+r.env["SIDECAR_ADMIN_LISTEN"]) {
		t.Errorf("a command: exit %d: %s", status, out)
	}
}

func TestTheStatusTellsNoSecret(t *testing.T) {
	r := newRig(t)
	p := r.run()
	p.deliver("evt-1", firstKey)
	_, body := p.admin("/api/v1/status")
	var got statusReport
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Ready || !got.Config.Valid || got.Config.Digest == "" || !got.Ledger.Reachable || len(got.Integrations) != 1 ||
		!got.Integrations[0].Live || got.Integrations[0].Credentials[0].Fingerprint == "" {
		t.Errorf("got %s", body)
	}
	if strings.Contains(body, firstKey) || strings.Contains(p.log.String(), firstKey) {
		t.Error("a secret is in the status or in the log")
	}
	if status, body := p.admin("/metrics"); status != 200 || !strings.Contains(body, "webhook_deliveries") || !strings.Contains(body, "webhook_config_invalid") {
		t.Errorf("/metrics: %d %s", status, body)
	}
	if status, _ := get("http://" + p.env["SIDECAR_PROBE_LISTEN"] + "/readyz"); status != 200 {
		t.Errorf("the probe listener: %d", status)
	}
}

func TestPausedIntegrationsAskToComeBack(t *testing.T) {
	r := newRig(t)
	r.configure(orders("{id: k1, secret: {file: first}}", "paused: true"))
	if got := r.run().deliver("evt-1", firstKey); got != "503" || r.runs() != "" {
		t.Errorf("got %s, and the application saw %q", got, r.runs())
	}
}

// Package otel delivers through the built sidecar to a real OpenTelemetry collector, and reads what arrived there. It is a
// module of its own, so that the product does not depend on a collector.
package otel

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	secret = "canary-secret-0123456789abcdef0123456789"
	theirs = "00-11111111111111111111111111111111-2222222222222222-01"
)

// build compiles a command of this module or of the product.
func build(t *testing.T, dir, target string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(target))
	command := exec.Command("go", "build", "-o", binary, target)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v: %s", target, err, out)
	}
	return binary
}

// output takes in what a process writes while a test reads it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func start(t *testing.T, binary string, env []string, args ...string) *output {
	t.Helper()
	command := exec.Command(binary, args...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	command.Dir = t.TempDir()
	log := &output{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(binary), log.String())
		}
	})
	return log
}

func address(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

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
		<-time.After(50 * time.Millisecond)
	}
}

// span is what the collector wrote of one.
type span struct {
	Name, TraceID, SpanID, ParentSpanID string
	Kind                                int
	Links                               []struct {
		TraceID    string
		Attributes []attribute
	}
	Attributes []attribute
}

type attribute struct {
	Key   string
	Value struct{ StringValue, IntValue string }
}

func (s span) get(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// spans reads every span in the collector's file.
func spans(t *testing.T, path string) []span {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var all []span
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var batch struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &batch); err != nil {
			return all // a line that is being written
		}
		for _, resource := range batch.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				all = append(all, scope.Spans...)
			}
		}
	}
	return all
}

// configuration is an integrations file with the one integration of these tests.
func configuration(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	return write(t, filepath.Join(dir, "sidecar.yaml"), fmt.Sprintf(`
integrations:
  - account: acme
    name: orders
    route: /hooks/orders
    provider: hmac
    credentials: [{id: key-1, secret: {file: %q}}]
    hmac: {header: X-Signature, encoding: hex, signed: "{timestamp}.{body}", timestamp: {header: X-Timestamp, unit: s}}
    event: {id: {json: /id}, type: {json: /type}}
`, write(t, filepath.Join(dir, "secret"), secret)))
}

func deliver(t *testing.T, public, event string) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"order.paid","note":"canary-body"}`, event)
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	request, err := http.NewRequest(http.MethodPost, "http://"+public+"/hooks/orders?token=canary-query", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Timestamp", stamp)
	request.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	request.Header.Set("Traceparent", theirs)
	request.Header.Set("Baggage", "user=canary-baggage")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	return response
}

func TestDeliveriesReachACollector(t *testing.T) {
	collector, sidecar := build(t, ".", "./collector"), build(t, "../..", "./cmd/sidecar")
	dir := t.TempDir()
	received, otlp, telemetry := filepath.Join(dir, "received.json"), address(t), address(t)
	_, port, _ := net.SplitHostPort(telemetry)
	start(t, collector, nil, "--config", write(t, filepath.Join(dir, "collector.yaml"), fmt.Sprintf(`
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {file: {path: %q, flush_interval: 100ms}}
service:
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %s}}}}]}}
  pipelines:
    traces: {receivers: [otlp], exporters: [file]}
`, otlp, received, port)))

	parents := make(chan string, 10)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	application := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
		if r.Header.Get("Baggage") != "" {
			t.Error("the stranger's baggage reached the application")
		}
	})}
	go application.Serve(listener)
	t.Cleanup(func() { application.Close() })

	public, admin := address(t), address(t)
	log := start(t, sidecar, []string{
		"SIDECAR_LISTEN=" + public, "SIDECAR_ADMIN_LISTEN=" + admin, "SIDECAR_PROBE_LISTEN=" + address(t),
		"SIDECAR_UPSTREAM=http://" + listener.Addr().String(), "SIDECAR_LOG_LEVEL=debug",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + otlp, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_BSP_SCHEDULE_DELAY=100",
		"OTEL_METRICS_EXPORTER=none",
		"SIDECAR_CONFIG=" + configuration(t),
	}, "run")
	await(t, "readiness", func() error {
		response, err := http.Get("http://" + admin + "/readyz")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	})

	for i, want := range []string{"applied", "replayed"} {
		if got := deliver(t, public, "evt-1").Header.Get("Sidecar-Receipt"); got != want {
			t.Fatalf("delivery %d: %q, want %s", i, got, want)
		}
	}
	byOutcome := map[string]span{}
	var all []span
	await(t, "spans of both deliveries", func() error {
		all = spans(t, received)
		for _, s := range all {
			if outcome := s.get("webhook.outcome"); outcome != "" {
				byOutcome[outcome] = s
			}
		}
		if len(byOutcome) < 2 {
			return fmt.Errorf("%d spans so far", len(all))
		}
		return nil
	})
	first, second := byOutcome["applied"], byOutcome["replayed"]
	checkRoots(t, first, second)
	checkArrows(t, all, first, <-parents)
	checkSilence(t, received, log.String())
}

func checkRoots(t *testing.T, first, second span) {
	t.Helper()
	for _, s := range []span{first, second} {
		if s.ParentSpanID != "" || s.TraceID == theirs[3:35] {
			t.Error("the stranger's trace was continued")
		}
		if !linked(s, "sender", theirs[3:35]) {
			t.Error("no link to the sender's context")
		}
		if s.get("webhook.scope") != "acme/orders" || s.get("http.route") != "/hooks/orders" || s.get("webhook.credential.id") != "key-1" {
			t.Errorf("attributes %+v", s.Attributes)
		}
	}
	if first.TraceID == second.TraceID || !linked(second, "original", first.TraceID) {
		t.Errorf("the duplicate's links %+v do not lead to trace %s", second.Links, first.TraceID)
	}
}

func linked(s span, as, trace string) bool {
	for _, link := range s.Links {
		if link.TraceID == trace && len(link.Attributes) == 1 && link.Attributes[0].Value.StringValue == as {
			return true
		}
	}
	return false
}

func checkArrows(t *testing.T, all []span, root span, parent string) {
	t.Helper()
	arrows := map[string]span{}
	for _, s := range all {
		if s.TraceID == root.TraceID && s.ParentSpanID == root.SpanID {
			arrows[s.Name] = s
		}
	}
	for _, name := range []string{"read", "verify", "claim", "forward", "settle"} {
		if arrows[name].SpanID == "" {
			t.Errorf("no span of %s", name)
		}
	}
	if want := "00-" + root.TraceID + "-" + arrows["forward"].SpanID + "-01"; parent != want {
		t.Errorf("the application saw traceparent %s, want %s", parent, want)
	}
}

func checkSilence(t *testing.T, received, log string) {
	t.Helper()
	written, err := os.ReadFile(received)
	if err != nil {
		t.Fatal(err)
	}
	if shown := string(written) + log; strings.Contains(shown, "canary") || strings.Contains(shown, "evt-1") {
		t.Error("a canary or an event ID is in the spans or the log")
	}
}

// A collector that is away, slow or refusing costs spans and nothing else: same answers, and no noise.
func TestCollectorAwayIsNoNoise(t *testing.T) {
	sidecar := build(t, "../..", "./cmd/sidecar")
	refusing := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go refusing.Serve(listener)
	t.Cleanup(func() { refusing.Close() })
	for name, endpoint := range map[string]string{"absent": address(t), "refusing": listener.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			admin := address(t)
			log := start(t, sidecar, []string{
				"SIDECAR_LISTEN=" + address(t), "SIDECAR_ADMIN_LISTEN=" + admin, "SIDECAR_PROBE_LISTEN=" + address(t),
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
				"OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_METRIC_EXPORT_INTERVAL=20",
				"SIDECAR_CONFIG=" + configuration(t),
			}, "run")
			await(t, "life", func() error {
				response, err := http.Get("http://" + admin + "/livez")
				if err != nil {
					return err
				}
				return response.Body.Close()
			})
			<-time.After(2 * time.Second) // a hundred exports
			if n := strings.Count(log.String(), "could not be exported"); n > 1 {
				t.Errorf("told %d times", n)
			}
		})
	}
}

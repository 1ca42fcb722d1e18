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
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	secret = "canary-secret-0123456789abcdef0123456789"
	theirs = "00-11111111111111111111111111111111-2222222222222222-01"
)

// build compiles a command of this module, or of the product like what ships.
func build(t *testing.T, dir, target string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(target))
	command := exec.Command("go", "build", "-tags=grpcnotrace", "-o", binary, target)
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
	log, _ := startProcess(t, binary, env, args...)
	return log
}

func startProcess(t *testing.T, binary string, env []string, args ...string) (*output, *os.Process) {
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
	return log, command.Process
}

// given are the addresses that this process has had.
var given sync.Map

// address is one where nobody listens, below what the kernel hands out by itself: nobody takes it before it is used.
func address(t *testing.T) string {
	t.Helper()
	for range 10_000 {
		chosen := fmt.Sprintf("127.0.0.1:%d", 30_000+rand.IntN(2_700))
		if _, twice := given.LoadOrStore(chosen, true); twice {
			continue
		}
		if listener, err := net.Listen("tcp", chosen); err == nil {
			listener.Close()
			return chosen
		}
	}
	t.Fatal("no port is free")
	return ""
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

// configuration is an integrations file with one integration in each mode.
func configuration(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "secret"), secret)
	yaml := "integrations:\n"
	for name, mode := range map[string]string{"orders": "mode: forward", "jobs": "mode: accept\n    retry: {initial: 50ms, max: 100ms}"} {
		yaml += fmt.Sprintf(`  - account: acme
    name: %[1]s
    route: /hooks/%[1]s
    provider: hmac
    credentials: [{id: key-1, secret: {file: %[2]q}}]
    hmac: {header: X-Signature, encoding: hex, signed: "{timestamp}.{body}", timestamp: {header: X-Timestamp, unit: s}}
    event: {id: {json: /id}, type: {json: /type}}
    %[3]s
`, name, file, mode)
	}
	return write(t, filepath.Join(dir, "sidecar.yaml"), yaml)
}

// signatures are all that were ever sent.
var signatures sync.Map

func deliver(t *testing.T, public, name, event string) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"id":%q,"type":"order.paid","note":"canary-body"}`, event)
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	signature := hex.EncodeToString(mac.Sum(nil))
	signatures.Store(signature, true)
	request, err := http.NewRequest(http.MethodPost, "http://"+public+"/hooks/"+name+"?token=canary-query", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Timestamp", stamp)
	request.Header.Set("X-Signature", signature)
	request.Header.Set("Traceparent", theirs)
	request.Header.Set("Tracestate", "vendor=canary-state")
	request.Header.Set("Baggage", "user=canary-baggage")
	request.Header.Set("Authorization", "Bearer canary-header")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	return response
}

// seen is what the application was told of one attempt.
type seen struct{ event, attempt, traceparent string }

// application answers a job's first attempt with 503, everything else with 200, and a job only when its attempt is taken from jobs.
func application(t *testing.T, requests, jobs chan<- seen) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, attempt := r.Header.Get("Idempotency-Key"), r.Header.Get("Sidecar-Attempt")
		to := requests
		if strings.HasPrefix(event, "evt-job") {
			to = jobs
		}
		to <- seen{event, attempt, r.Header.Get("Traceparent")}
		if r.Header.Get("Baggage")+r.Header.Get("Tracestate") != "" {
			t.Error("the stranger's baggage or state reached the application")
		}
		if strings.HasPrefix(event, "evt-job") && attempt == "1" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, "canary-answer")
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

func TestDeliveriesReachACollector(t *testing.T) {
	collector, sidecar := build(t, ".", "./collector"), build(t, "../..", "./cmd/sidecar")
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) { deliveriesReach(t, collector, sidecar, protocol) })
	}
}

func deliveriesReach(t *testing.T, collector, sidecar, protocol string) {
	transport, _, _ := strings.Cut(protocol, "/")
	dir := t.TempDir()
	received, otlp, telemetry := filepath.Join(dir, "received.json"), address(t), address(t)
	_, port, _ := net.SplitHostPort(telemetry)
	start(t, collector, nil, "--config", write(t, filepath.Join(dir, "collector.yaml"), fmt.Sprintf(`
receivers: {otlp: {protocols: {%s: {endpoint: %q}}}}
exporters: {file: {path: %q, flush_interval: 100ms}}
service:
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %s}}}}]}}
  pipelines:
    traces: {receivers: [otlp], exporters: [file]}
    metrics: {receivers: [otlp], exporters: [file]}
`, transport, otlp, received, port)))
	accepts(t, otlp) // what is sent before is lost

	requests, jobs := make(chan seen, 10), make(chan seen)
	public, admin := address(t), address(t)
	const token, sealKey = "canary-token-of-an-operator", "Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5LWNhbmE="
	log := start(t, sidecar, []string{
		"SIDECAR_LISTEN=" + public, "SIDECAR_ADMIN_LISTEN=" + admin, "SIDECAR_PROBE_LISTEN=" + address(t),
		"SIDECAR_UPSTREAM=" + application(t, requests, jobs), "SIDECAR_LOG_LEVEL=debug",
		"DATABASE_URL=" + postgres(t), "REDIS_URL=" + redis(t),
		"SIDECAR_ADMIN_TOKEN_FILE=" + write(t, filepath.Join(dir, "token"), "ana:read:"+token),
		"SIDECAR_SEAL_KEY_FILE=" + write(t, filepath.Join(dir, "keys"), sealKey),
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + otlp, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_BSP_SCHEDULE_DELAY=100",
		"OTEL_METRIC_EXPORT_INTERVAL=200",
		"SIDECAR_CONFIG=" + configuration(t),
	}, "run")
	await(t, "readiness", ready(admin))
	await(t, "the ledger", func() error {
		if got := deliver(t, public, "orders", "evt-warm").StatusCode; got != http.StatusOK {
			return fmt.Errorf("status %d", got)
		}
		return nil
	})
	<-requests
	for i, want := range []string{"applied", "replayed"} {
		if got := deliver(t, public, "orders", "evt-1").Header.Get("Sidecar-Receipt"); got != want {
			t.Fatalf("delivery %d: %q, want %s", i, got, want)
		}
	}
	for i := range 2 {
		if got := deliver(t, public, "jobs", "evt-job").Header.Get("Sidecar-Receipt"); got != "queued" {
			t.Fatalf("delivery %d: %q, want queued", i, got)
		}
	}
	forwarded := <-requests
	attempts := []seen{<-jobs, <-jobs}
	await(t, "the job's end", func() error {
		if got := deliver(t, public, "jobs", "evt-job").Header.Get("Sidecar-Receipt"); got != "replayed" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	refused, err := http.Post("http://"+public+"/hooks/orders?token=canary-query", "text/plain", strings.NewReader("canary-body"))
	if err != nil || refused.StatusCode != http.StatusUnauthorized {
		t.Fatalf("unsigned: %v, %v", refused, err)
	}
	refused.Body.Close()

	var all []span
	await(t, "all spans and metrics", func() error {
		all = spans(t, received)
		for of, want := range map[string]int{"applied orders": 2, "replayed orders": 1, "rejected orders": 1, "queued jobs": 3, "applied jobs": 1, "replayed jobs": 1} {
			outcome, name, _ := strings.Cut(of, " ")
			if got := len(having(all, outcome, "acme/"+name)); got < want {
				return fmt.Errorf("%d spans of %s, want %d", got, of, want)
			}
		}
		if names := count(all); names["redis"] == 0 || names["postgresql"] == 0 {
			return fmt.Errorf("no span of Redis or PostgreSQL among %v", names)
		}
		if written, err := os.ReadFile(received); !bytes.Contains(written, []byte("webhook.deliveries")) {
			return fmt.Errorf("no metric of deliveries has arrived: %v", err)
		}
		return nil
	})
	reference := having(all, "replayed", "acme/orders")[0].get("webhook.event.reference")
	for _, s := range having(all, "applied", "acme/orders") {
		if s.get("webhook.event.reference") == reference {
			checkRoots(t, s, having(all, "replayed", "acme/orders")[0])
			checkArrows(t, all, s, forwarded.traceparent)
		}
	}
	checkJob(t, all, attempts)
	checkServices(t, all)
	checkSilence(t, received, log.String(), page(t, admin, token), token, sealKey)
}

func ready(admin string) func() error {
	return func() error {
		response, err := http.Get("http://" + admin + "/readyz")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	}
}

// page is everything that the admin listener tells whoever asks for it, with exemplars.
func page(t *testing.T, admin, token string) string {
	t.Helper()
	var told strings.Builder
	for _, path := range []string{"/metrics", "/api/v1/status", "/api/v1/dead-letters"} {
		request, err := http.NewRequest(http.MethodGet, "http://"+admin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0, */*")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s is %d", path, response.StatusCode)
		}
		told.Write(text)
	}
	if !strings.Contains(told.String(), `,event="`) && !strings.Contains(told.String(), `{event="`) {
		t.Error("no exemplar names an event")
	}
	return told.String()
}

// having are the spans of an outcome and a scope.
func having(all []span, outcome, scope string) []span {
	var found []span
	for _, s := range all {
		if s.get("webhook.outcome") == outcome && s.get("webhook.scope") == scope {
			found = append(found, s)
		}
	}
	return found
}

func count(all []span) map[string]int {
	names := map[string]int{}
	for _, s := range all {
		names[s.Name]++
	}
	return names
}

// checkJob expects that a stored event's duplicates and attempts, however late, lead to its first delivery.
func checkJob(t *testing.T, all []span, seen []seen) {
	t.Helper()
	var first span
	var later []span
	for _, s := range append(append(having(all, "queued", "acme/jobs"), having(all, "applied", "acme/jobs")...), having(all, "replayed", "acme/jobs")...) {
		if original(s) == "" {
			first = s
		} else {
			later = append(later, s)
		}
	}
	names := count(later)
	if first.Name != "webhook delivery" || names["webhook delivery"] < 2 || names["webhook attempt"] != 2 {
		t.Errorf("the first is %s, linked to it are %v", first.Name, names)
	}
	for _, s := range later {
		if original(s) != first.TraceID || s.TraceID == first.TraceID || s.ParentSpanID != "" {
			t.Errorf("%s of attempt %s is linked to %q, the first delivery's trace is %s", s.Name, s.get("webhook.attempt"), original(s), first.TraceID)
		}
	}
	for i, got := range seen {
		var of span
		for _, s := range later {
			if s.Name == "webhook attempt" && s.get("webhook.attempt") == fmt.Sprint(i+1) {
				of = s
			}
		}
		arrows := map[string]span{}
		for _, s := range all {
			if s.TraceID == of.TraceID && s.ParentSpanID == of.SpanID {
				arrows[s.Name] = s
			}
		}
		if len(arrows) != 2 || arrows["settle"].SpanID == "" {
			t.Errorf("attempt %s has the arrows %v", got.attempt, arrows)
		}
		if want := "00-" + of.TraceID + "-" + arrows["forward"].SpanID + "-01"; got.traceparent != want || got.attempt != fmt.Sprint(i+1) {
			t.Errorf("the application saw attempt %s with %s, want %s", got.attempt, got.traceparent, want)
		}
	}
}

// original is the trace of the first delivery that a span is linked to.
func original(s span) string {
	for _, link := range s.Links {
		if len(link.Attributes) == 1 && link.Attributes[0].Value.StringValue == "original" {
			return link.TraceID
		}
	}
	return ""
}

// checkServices expects no more on the spans of Redis and PostgreSQL than which command it was.
func checkServices(t *testing.T, all []span) {
	t.Helper()
	for _, s := range all {
		if s.Name != "redis" && s.Name != "postgresql" {
			continue
		}
		for _, a := range s.Attributes {
			switch a.Key {
			case "db.system.name", "error.type":
			case "db.operation.name":
				if strings.ContainsAny(a.Value.StringValue, " .$") || len(a.Value.StringValue) > 10 {
					t.Errorf("%s did %q", s.Name, a.Value.StringValue)
				}
			default:
				t.Errorf("%s has %s", s.Name, a.Key)
			}
		}
	}
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

// checkSilence looks for what nobody may be told in everything that is told.
func checkSilence(t *testing.T, received, log, page string, secrets ...string) {
	t.Helper()
	written, err := os.ReadFile(received)
	if err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, "canary", "evt-1", "evt-job", secret, password)
	signatures.Range(func(signature, _ any) bool {
		secrets = append(secrets, signature.(string))
		return true
	})
	for place, shown := range map[string]string{"what was exported": string(written), "the log": log, "the admin listener": page} {
		for _, canary := range secrets {
			if i := strings.Index(shown, canary); i >= 0 {
				t.Errorf("%s has %.20s: %q", place, canary, shown[max(0, i-80):min(len(shown), i+40)])
			}
		}
	}
}

// A collector that is away, slow or refusing costs spans and nothing else: the same answers at once, no noise, and an end in
// time.
func TestCollectorAwayIsNoNoise(t *testing.T) {
	sidecar := build(t, "../..", "./cmd/sidecar")
	serve := func(handler http.HandlerFunc) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: handler}
		go server.Serve(listener)
		t.Cleanup(func() { server.Close() })
		return listener.Addr().String()
	}
	for name, endpoint := range map[string]string{
		"absent":   address(t),
		"refusing": serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }),
		"busy":     serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
		"silent": serve(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}),
	} {
		t.Run(name, func(t *testing.T) {
			public, admin := address(t), address(t)
			requests := make(chan seen, 2000)
			log, process := startProcess(t, sidecar, []string{
				"SIDECAR_LISTEN=" + public, "SIDECAR_ADMIN_LISTEN=" + admin, "SIDECAR_PROBE_LISTEN=" + address(t),
				"SIDECAR_UPSTREAM=" + application(t, requests, nil), "SIDECAR_DRAIN_DELAY=10ms",
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
				"OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_METRIC_EXPORT_INTERVAL=20", "OTEL_BSP_MAX_QUEUE_SIZE=64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=32",
				"SIDECAR_CONFIG=" + configuration(t),
			}, "run")
			await(t, "readiness", ready(admin))
			began, slowest := time.Now(), time.Duration(0)
			for i := 0; i < 50 || time.Since(began) < 2*time.Second; i++ { // a hundred exports
				event, at := fmt.Sprintf("evt-%d", i), time.Now()
				for _, want := range []string{"200 applied", "200 replayed"} {
					answer := deliver(t, public, "orders", event)
					if got := fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Sidecar-Receipt")); got != want {
						t.Fatalf("%s: %s, want %s", event, got, want)
					}
				}
				slowest = max(slowest, time.Since(at))
				select { // drained, so that the application never waits for this test
				case <-requests:
				default:
				}
			}
			if slowest > 8*time.Second { // whoever waits for an export waits for 10 s
				t.Errorf("two deliveries took %s", slowest)
			}
			if n := strings.Count(log.String(), "could not be exported"); n > 1 {
				t.Errorf("told %d times", n)
			}
			asked := time.Now()
			process.Signal(syscall.SIGTERM)
			await(t, "the end", func() error {
				if !strings.Contains(log.String(), "sidecar ends") {
					return errors.New("it has not ended")
				}
				return nil
			})
			if took := time.Since(asked); took > 10*time.Second {
				t.Errorf("it took %s to end", took)
			}
		})
	}
}

package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// rawApplication keeps every request as it came: the line, the fields in their order, and the body.
type rawApplication struct {
	address string
	mu      sync.Mutex
	seen    [][]string
	status  atomic.Int64
}

func newRawApplication(t *testing.T) *rawApplication {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &rawApplication{address: listener.Addr().String()}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go a.serve(conn)
		}
	}()
	return a
}

func (a *rawApplication) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	var lines []string
	for size := 0; ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		if line = strings.TrimSuffix(line, "\r\n"); line == "" {
			body := make([]byte, size)
			if _, err := io.ReadFull(reader, body); err != nil {
				return
			}
			lines = append(lines, string(body))
			break
		}
		fmt.Sscanf(strings.ToLower(line), "content-length: %d", &size)
		lines = append(lines, line)
	}
	a.mu.Lock()
	a.seen = append(a.seen, lines)
	a.mu.Unlock()
	fmt.Fprintf(conn, "HTTP/1.1 %d Said\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndone", a.status.Load())
}

// requests are what came, without what must differ from attempt to attempt, which is returned apart.
func (a *rawApplication) requests() (same [][]string, attempts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, lines := range a.seen {
		var kept []string
		for _, line := range lines {
			switch name, value, _ := strings.Cut(line, ": "); name {
			case "Sidecar-Attempt":
				attempts = append(attempts, value)
			case "Traceparent":
			default:
				kept = append(kept, line)
			}
		}
		slices.Sort(kept)
		same = append(same, kept)
	}
	return same, attempts
}

// A replay is the same request, byte for byte, with the same key and the next attempt, however old its signature is; when it
// fails it is dead for the new reason. The first attempt is the delivery's own, the others are the worker's.
func TestAReplayIsTheSameRequest(t *testing.T) {
	app := newRawApplication(t)
	yaml := integration(t, "on_failure: queue", `accept: {body: "stored"}`, "in_doubt: quarantine",
		"retry: {max_attempts: 2, initial: 50ms, max: 100ms}", "record: {rejected: [422]}")
	yaml = strings.Replace(yaml, "tolerance: 5m", "tolerance: 4s", 1)
	s := newSidecar(t, yaml, map[string]string{"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address}).start(t)
	body := "{\"id\":\"evt-1\",\r\n\t\"type\":\"order.paid\", \"odd\":\"\u00e9\x7f\"}\r\n"
	request, err := http.NewRequest(http.MethodPost, "http://"+s.public+route+"?a=1;b=%zz&&", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"X-Many": {"1", "", "2"}, "X-Forwarded-For": {"203.0.113.7"}, "Cookie": {"a=b"}, "Idempotency-Key": {"the sender's"},
		"Content-Type": {"application/json; charset=odd"},
	}
	sign(request, body)
	again := request.Clone(t.Context())
	app.status.Store(503)
	response, err := senders.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 202 || response.Header.Get("Sidecar-Receipt") != "queued" {
		t.Fatalf("status %d %v", response.StatusCode, response.Header)
	}
	becomes(t, s, "evt-1", "dead", "max_attempts")
	await(t, "the signature's end", func() error {
		again.Body = io.NopCloser(strings.NewReader(body))
		response, err := senders.Do(again)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	})
	replay := func() {
		t.Helper()
		if exit, out := s.run(t, "dead-letters", "replay", "acme/orders", "evt-1", "--actor", "ada", "--reason", "repaired"); exit != 0 {
			t.Fatalf("replay: exit %d\n%s", exit, out)
		}
	}
	app.status.Store(0) // no status line that anybody understands: the outcome is unknown
	replay()
	becomes(t, s, "evt-1", "dead", "quarantined")
	app.status.Store(200)
	replay()
	becomes(t, s, "evt-1", "applied", "")
	same, attempts := app.requests()
	if !slices.Equal(attempts, []string{"1", "2", "3", "4"}) {
		t.Errorf("attempts %v", attempts)
	}
	for i, got := range same {
		if !slices.Equal(got, same[0]) {
			t.Errorf("attempt %s is\n%q, the first was\n%q", attempts[i], got, same[0])
		}
	}
	for _, want := range []string{"POST " + route + "?a=1;b=%zz&& HTTP/1.1", "Idempotency-Key: evt-1", "X-Forwarded-For: 203.0.113.7, 127.0.0.1", body} {
		if !slices.Contains(same[0], want) {
			t.Errorf("the application saw %q, want %q", same[0], want)
		}
	}
}

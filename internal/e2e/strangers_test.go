package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// A hundred thousand requests with paths, hosts, event IDs, types and key IDs that somebody made up, signed or not, leave
// neither series nor memory behind.
func TestStrangersLeaveNothingBehind(t *testing.T) {
	const lanes, each = 8, 12_500
	const otherWork = 100 // series that sweeping and other work of our own may begin meanwhile
	app := newApplication(t)
	s := newSidecar(t, integration(t), map[string]string{
		"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + app.address, "SIDECAR_GUARD": "/hooks",
		"SIDECAR_LOG_LEVEL": "error", "GOMEMLIMIT": "60MiB",
	}).start(t)
	expect(t, s, "evt-1", "200 applied evt-1 run 1")
	strangers(t, s, 500) // whatever has to be made once is made
	series, memory := countSeries(t, s), resident(t, s)
	var visiting sync.WaitGroup
	for range lanes {
		visiting.Go(func() { strangers(t, s, each) })
	}
	visiting.Wait()
	if now := countSeries(t, s); now > series+otherWork {
		t.Errorf("%d series, before there were %d", now, series)
	}
	if now := resident(t, s); now > memory+32<<20 {
		t.Errorf("%d MiB resident, before it was %d", now>>20, memory>>20)
	}
	expect(t, s, "evt-2", "200 applied evt-2 run 1")
}

// strangers sends n requests over one connection.
func strangers(t *testing.T, s *sidecar, n int) {
	conn, err := net.Dial("tcp", s.public)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for range n {
		request, refused := stranger()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Error(err)
			return
		}
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Error(err)
			return
		}
		if refused != (answer.StatusCode >= 400 && answer.StatusCode < 500) {
			t.Errorf("%.40q got %d", request, answer.StatusCode)
		}
	}
}

// stranger is a request of which nothing was seen before, and whether it is refused.
func stranger() (request string, refused bool) {
	made := strconv.FormatUint(rand.Uint64(), 36)
	body := fmt.Sprintf(`{"id":"evt-%s","type":"type-%s"}`, made, made)
	delivery := func(stamp, signature string) string {
		return fmt.Sprintf("POST %s?%s HTTP/1.1\r\nHost: %s.test\r\nX-Timestamp: %s\r\nX-Signature: %s\r\nX-Key-Id: %s\r\nX-%s: 1\r\n"+
			"Content-Length: %d\r\n\r\n%s", route, made, made, stamp, signature, made, made, len(body), body)
	}
	switch rand.IntN(6) {
	case 0: // under the guard, no route
		return fmt.Sprintf("GET /hooks/%s?%s HTTP/1.1\r\nHost: %s.test\r\n\r\n", made, made, made), true
	case 1: // another spelling
		return fmt.Sprintf("GET /hooks/%s/../orders HTTP/1.1\r\nHost: %s.test\r\n\r\n", made, made), true
	case 2: // an open path
		return fmt.Sprintf("GET /%s?%s HTTP/1.1\r\nHost: %s.test\r\n\r\n", made, made, made), false
	case 3: // a delivery, with a new event
		signed, _ := http.NewRequest(http.MethodPost, route, http.NoBody)
		sign(signed, body)
		return delivery(signed.Header.Get("X-Timestamp"), signed.Header.Get("X-Signature")), false
	case 4: // another method
		return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s.test\r\n\r\n", strings.ToUpper(made), route, made), true
	default: // a forged delivery
		return delivery("1", "sha256="+strings.Repeat("0", 64)), true
	}
}

func countSeries(t *testing.T, s *sidecar) int {
	t.Helper()
	page, err := fetch("http://" + s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(page, "\nwebhook_")
}

// peakResident is the most memory that the process has had, in bytes.
func peakResident(t *testing.T, s *sidecar) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes int
	if _, err := fmt.Sscan(peak, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// resident is the memory of the process in bytes.
func resident(t *testing.T, s *sidecar) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

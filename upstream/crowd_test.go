package upstream

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoing answers with what was asked, in a framing that the target names, and now and then breaks off or hangs up.
func echoing(p *peer) {
	for {
		r, ok := p.request()
		if !ok {
			return
		}
		text := r.line + " " + string(r.body)
		switch {
		case strings.Contains(r.line, "/chunked"):
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(text), text)
		case strings.Contains(r.line, "/close"):
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			return
		case strings.Contains(r.line, "/silently-close"):
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			return
		case strings.Contains(r.line, "/break"):
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text)+1, text)
			return
		default:
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	}
}

// Many senders at once, each with several requests on a connection: nobody gets another one's answer, and no request
// reaches the application twice or in pieces.
func TestExchangesDoNotMix(t *testing.T) {
	app := newApplication(t, echoing)
	front := newFront(t, Config{URL: app.url(), IdleConns: 8})
	const senders, requests = 24, 60
	done := make(chan error, senders)
	for sender := range senders {
		go func() { done <- chatter(front, sender, requests) }()
	}
	for range senders {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	times := map[string]int{}
	for _, request := range app.seen() {
		times[request.line]++
	}
	for line, n := range times {
		if n > 1 && !strings.HasPrefix(line, "GET") {
			t.Errorf("%s arrived %d times", line, n)
		}
	}
}

// chatter is one sender. An answer may be an error where the application broke off, but never a wrong one.
func chatter(front string, sender, requests int) error {
	var c net.Conn
	var reader *bufio.Reader
	for i := range requests {
		if c == nil {
			connection, err := net.Dial("tcp", front)
			if err != nil {
				return err
			}
			defer connection.Close()
			c, reader = connection, bufio.NewReader(connection)
		}
		c.SetDeadline(time.Now().Add(20 * time.Second))
		kind := []string{"/plain", "/chunked", "/close", "/silently-close", "/break"}[rand.IntN(5)]
		raw, want := someRequest(kind, fmt.Sprintf("%d-%d", sender, i))
		io.WriteString(c, raw)
		method, _, _ := strings.Cut(raw, " ")
		response, err := readFinal(reader, method)
		if err != nil {
			return fmt.Errorf("%.40q: %w", raw, err)
		}
		body, err := io.ReadAll(response.Body)
		broken := response.StatusCode == http.StatusBadGateway || kind == "/break" && err != nil
		if !broken && (err != nil || string(body) != want) {
			return fmt.Errorf("%.60q was answered with %d, %.60q, %w", raw, response.StatusCode, body, err)
		}
		if err != nil || response.Close {
			c = nil
		}
	}
	return nil
}

func readFinal(reader *bufio.Reader, method string) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		if err != nil || response.StatusCode >= 200 {
			return response, err
		}
	}
}

// someRequest is a request in one of several framings, and the answer it must get.
func someRequest(kind, id string) (raw, want string) {
	body := strings.Repeat(id, rand.IntN(3)*rand.IntN(5000))
	line := fmt.Sprintf("POST %s?%s HTTP/1.1", kind, id)
	switch rand.IntN(3) {
	case 0:
		line = fmt.Sprintf("GET %s?%s HTTP/1.1", kind, id)
		return line + "\r\nHost: h\r\n\r\n", line + " "
	case 1:
		chunk := ""
		if body != "" {
			chunk = fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
		}
		return line + "\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n", line + " " + body
	}
	return fmt.Sprintf("%s\r\nHost: h\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body), line + " " + body
}

package upstream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// application is a raw TCP application that keeps what arrived, byte for byte.
type application struct {
	t        *testing.T
	listener net.Listener
	serve    func(*peer)
	wait     sync.WaitGroup

	mu       sync.Mutex
	conns    []net.Conn
	requests []received
}

// received is one request as it arrived.
type received struct {
	conn   int // which connection, from 0
	line   string
	fields []string // "Name: value", in order
	body   []byte
	raw    []byte // the header section
}

// values of a field, in order, without regard to case.
func (r received) values(name string) []string {
	var values []string
	for _, field := range r.fields {
		if n, v, _ := strings.Cut(field, ":"); strings.EqualFold(n, name) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// peer is one connection as the application sees it.
type peer struct {
	*net.TCPConn
	*bufio.Reader
	app    *application
	number int
}

func (p *peer) Read(b []byte) (int, error) { return p.Reader.Read(b) }

// newApplication serves each connection with serve, which need not close it.
func newApplication(t *testing.T, serve func(*peer)) *application {
	t.Helper()
	return newApplicationAt(t, "127.0.0.1:0", serve)
}

func newApplicationAt(t *testing.T, address string, serve func(*peer)) *application {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("no listener at %s: %v", address, err)
	}
	app := &application{t: t, listener: listener, serve: serve}
	app.wait.Add(1)
	go app.run()
	t.Cleanup(app.stop)
	return app
}

func (a *application) run() {
	defer a.wait.Done()
	for {
		accepted, err := a.listener.Accept()
		if err != nil {
			return
		}
		a.mu.Lock()
		p := &peer{TCPConn: accepted.(*net.TCPConn), Reader: bufio.NewReader(accepted), app: a, number: len(a.conns)}
		a.conns = append(a.conns, accepted)
		a.mu.Unlock()
		a.wait.Add(1)
		go func() {
			defer a.wait.Done()
			defer p.Close()
			a.serve(p)
		}()
	}
}

func (a *application) stop() {
	a.listener.Close()
	a.mu.Lock()
	for _, c := range a.conns {
		c.Close()
	}
	a.mu.Unlock()
	a.wait.Wait()
}

func (a *application) url() string { return "http://" + a.listener.Addr().String() }

func (a *application) address() string { return a.listener.Addr().String() }

func (a *application) seen() []received {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]received(nil), a.requests...)
}

func (a *application) connections() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.conns)
}

// head reads a header section.
func (p *peer) head() (received, bool) {
	r := received{conn: p.number}
	for {
		line, err := p.ReadBytes('\n')
		if err != nil {
			return r, false
		}
		r.raw = append(r.raw, line...)
		text := string(bytes.TrimRight(line, "\r\n"))
		switch {
		case text == "":
			return r, true
		case r.line == "":
			r.line = text
		default:
			r.fields = append(r.fields, text)
		}
	}
}

// request reads a request with its body and keeps it.
func (p *peer) request() (received, bool) {
	r, ok := p.head()
	if !ok {
		return r, false
	}
	parsed, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(r.raw), p.Reader)))
	if err != nil {
		return r, false
	}
	// The parser's own buffer may hold more than this request; exchanges here are not pipelined.
	r.body, err = io.ReadAll(parsed.Body)
	if err != nil {
		return r, false
	}
	for name, values := range parsed.Trailer {
		for _, value := range values {
			r.fields = append(r.fields, "(trailer) "+name+": "+value)
		}
	}
	p.app.mu.Lock()
	p.app.requests = append(p.app.requests, r)
	p.app.mu.Unlock()
	return r, true
}

// answering answers each request on a connection with the same bytes.
func answering(answer string) func(*peer) {
	return func(p *peer) {
		for {
			if _, ok := p.request(); !ok {
				return
			}
			if _, err := io.WriteString(p.TCPConn, answer); err != nil {
				return
			}
		}
	}
}

// reset closes a connection with a TCP reset.
func (p *peer) reset() {
	p.SetLinger(0)
	p.Close()
}

const okay = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"

// within polls until condition holds.
func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func canonical(name string) string { return textproto.CanonicalMIMEHeaderKey(name) }

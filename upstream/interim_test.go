package upstream

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	expecting = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
	proceed   = "HTTP/1.1 100 Continue\r\n\r\n"
	hint      = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
	unwanted  = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
)

// The application's interim answers arrive byte for byte as it sent them, each once and in order, of which one at most asks
// for the body.
func TestWhatAnApplicationSaysBeforeTheBodyPassesAsItIs(t *testing.T) {
	for said, want := range map[string]string{
		proceed + hint:                                   proceed + hint,
		hint + proceed + hint:                            hint + proceed + hint,
		proceed + hint + proceed + hint:                  proceed + hint + hint,
		"HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n" + hint: "HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n" + hint,
	} {
		app := newApplication(t, func(p *peer) {
			for {
				if _, ok := p.head(); !ok {
					return
				}
				io.WriteString(p.TCPConn, said)
				io.CopyN(io.Discard, p.Reader, 4)
				io.WriteString(p.TCPConn, okay)
			}
		})
		front := newFront(t, Config{URL: app.url()})
		for _, expectation := range []string{"100-continue", "100-Continue", "other, 100-continue", "other 100-continue"} {
			c := connect(t, front)
			for range 50 {
				c.send(strings.Replace(expecting, "100-continue", expectation, 1))
				c.expect(want)
				c.send("body")
				if response := c.response("POST"); response.StatusCode != 200 {
					t.Fatalf("status %d", response.StatusCode)
				}
				c.expect("done")
			}
			c.Close()
		}
	}
}

// Whatever an application says at the very moment when it is no longer waited for: its answers are whole, and there is one
// 100 at most.
func TestAnAnswerAtTheEndOfPatienceIsWhole(t *testing.T) {
	for _, said := range []string{hint, hint + proceed + hint, unwanted} {
		app := newApplication(t, func(p *peer) {
			p.head()
			<-time.After(expectPatience + time.Duration(rand.IntN(6000)-3000)*time.Microsecond)
			io.WriteString(p.TCPConn, said)
			if said != unwanted {
				io.CopyN(io.Discard, p.Reader, 4)
				io.WriteString(p.TCPConn, unwanted)
			}
			io.Copy(io.Discard, p.Reader)
		})
		front := newFront(t, Config{URL: app.url()})
		var wait sync.WaitGroup
		for range 50 {
			c := connect(t, front)
			wait.Go(func() {
				io.WriteString(c.TCPConn, strings.Replace(expecting, "\r\n", "\r\nConnection: close\r\n", 1))
				var heard strings.Builder
				for buffer := make([]byte, 1000); ; {
					n, err := c.reader.Read(buffer)
					heard.Write(buffer[:n])
					if err != nil {
						break
					}
					if strings.Contains(heard.String(), proceed) {
						io.WriteString(c.TCPConn, "body")
					}
				}
				got, final, _ := strings.Cut(heard.String(), "HTTP/1.1 403 Forbidden\r\n")
				interim, _, _ := strings.Cut(said, "HTTP/1.1 403 Forbidden\r\n")
				rest := strings.Replace(got, proceed, "", 1)
				if rest != strings.ReplaceAll(interim, proceed, "") || said != unwanted && rest == got || !strings.HasSuffix(final, "\r\n\r\nno") {
					t.Errorf("%.100q was heard as %q", said, heard.String())
				}
			})
		}
		wait.Wait()
	}
}

func early(w http.ResponseWriter, hint string) {
	writeInterim(w, http.StatusEarlyHints, http.Header{"Link": {hint}})
}

// hinted makes a call and returns the status and the hints before it, in order. A call that is given up may hear some later.
func hinted(ctx context.Context, client http.RoundTripper, url string) (status int, hints []string, err error) {
	var mu sync.Mutex
	var heard []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(_ int, fields textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, fields.Get("Link"))
		return nil
	}}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := client.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	mu.Lock()
	defer mu.Unlock()
	return response.StatusCode, heard, err
}

func TestHintsOverHTTP2ComeInOrderBeforeTheAnswer(t *testing.T) {
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprint(i))
	}
	app := newHTTP2Application(t, func(w http.ResponseWriter, r *http.Request) {
		for _, hint := range want {
			early(w, hint)
		}
		if r.URL.Path == "/breaks" {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "done")
	})
	front := newFront(t, Config{URL: app})
	client := newHTTP2Client(t)
	for range 20 {
		for path, status := range map[string]int{"/": 200, "/breaks": 502} {
			got, hints, err := hinted(t.Context(), client, "http://"+front+path)
			if got != status || err != nil || !slices.Equal(hints, want) {
				t.Fatalf("%s: status %d, %v, hints %q", path, got, err, hints)
			}
		}
	}
}

// A call over HTTP/2 that ends while hints come is no fault: whether the application ends it, its time is over, or its sender
// gives it up.
func TestACallThatEndsAmongHintsIsNoFault(t *testing.T) {
	app := newHTTP2Application(t, func(w http.ResponseWriter, r *http.Request) {
		early(w, "first")
		for r.URL.Path != "/breaks" && r.Context().Err() == nil {
			early(w, "more")
		}
		panic(http.ErrAbortHandler)
	})
	p, err := NewPassthrough(Config{URL: app, OnError: func(w http.ResponseWriter, _ *http.Request, _ error) {
		for i := range 20 {
			w.Header().Set(fmt.Sprint("X-", i), "x")
		}
		w.WriteHeader(599)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	soon := func() time.Duration { return time.Duration(rand.IntN(5000)) * time.Microsecond }
	front := newListener(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			ctx, cancel := context.WithTimeoutCause(r.Context(), soon(), ErrTimedOut)
			defer cancel()
			r = r.WithContext(ctx)
		}
		p.ServeHTTP(w, r)
	}))
	client := newHTTP2Client(t)
	var wait sync.WaitGroup
	for _, path := range []string{"/breaks", "/late", "/given-up"} {
		for range 4 {
			wait.Go(func() {
				for range 50 {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if path == "/given-up" {
						ctx, cancel = context.WithTimeout(ctx, soon())
					}
					status, _, err := hinted(ctx, client, "http://"+front+path)
					if path != "/given-up" && (status != 599 || err != nil) {
						t.Errorf("%s: status %d, %v", path, status, err)
					}
					cancel()
				}
			})
		}
	}
	wait.Wait()
}

// deafened is a sender's connection that is not read any more once it is deaf.
type deafened struct {
	net.Conn
	deaf, closed chan struct{}
	once         sync.Once
}

func (d *deafened) Read(b []byte) (int, error) {
	select {
	case <-d.deaf:
		<-d.closed
		return 0, net.ErrClosed
	default:
		return d.Conn.Read(b)
	}
}

func (d *deafened) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}

// Calls of all senders share a connection to the application: one who does not read what it is told delays nobody else, and
// not for ever is what it is told kept.
func TestASenderThatDoesNotListenDelaysNobody(t *testing.T) {
	ended := make(chan struct{})
	var mu sync.Mutex
	connections := map[string]bool{}
	app := newHTTP2Application(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		if r.URL.Path == "/hints" {
			for r.Context().Err() == nil {
				early(w, strings.Repeat("x", 4000))
			}
			close(ended)
		}
	})
	front := newFront(t, Config{URL: app})
	deaf := make(chan struct{})
	stopped := newHTTP2Client(t)
	stopped.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &deafened{Conn: conn, deaf: deaf, closed: make(chan struct{})}, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, _, err := hinted(ctx, stopped, "http://"+front+"/"); err != nil {
		t.Fatal(err)
	}
	close(deaf)
	var wait sync.WaitGroup
	wait.Go(func() { _, _, _ = hinted(ctx, stopped, "http://"+front+"/hints") })
	other := newHTTP2Client(t)
	for over := false; !over; {
		bounded, stop := context.WithTimeout(t.Context(), 20*time.Second)
		if status, _, err := hinted(bounded, other, "http://"+front+"/"); status != 200 || err != nil {
			t.Fatalf("another sender: status %d, %v", status, err)
		}
		stop()
		select {
		case <-ended: // the application hears that it was too much
			over = true
		default:
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(connections) != 1 {
		t.Errorf("%d connections to the application", len(connections))
	}
	cancel()
	wait.Wait()
}

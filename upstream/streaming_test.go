package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func TestEventsPassAtOnce(t *testing.T) {
	for name, framing := range map[string]func(string) string{
		"chunked":     func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) },
		"until close": func(text string) string { return text },
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan string)
			app := newApplication(t, func(p *peer) {
				p.request()
				head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
				if name == "chunked" {
					head += "Transfer-Encoding: chunked\r\n"
				}
				io.WriteString(p.TCPConn, head+"\r\n")
				for event := range next {
					io.WriteString(p.TCPConn, framing(event))
				}
			})
			c := connect(t, newFront(t, Config{URL: app.url()}))
			c.send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n")
			response := c.response("GET") // arrives before any event
			// Among them, those that end at the edge of a buffer, and those that look like the end of a body.
			late := 0 // of the five small ones: some may meet a busy machine, and who buffers is always late
			for _, size := range []int{1, 10, 20, 30, 40, 4096, len(copyBuffer{}) - 2, len(copyBuffer{}), len(copyBuffer{}) + 1, 100_000} {
				event := strings.Repeat("x", size) + "\r\n\r\n"
				sent := time.Now()
				next <- event
				got := make([]byte, len(event))
				if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != event {
					t.Fatalf("%d bytes: %v", size, err)
				}
				if size < 100 && time.Since(sent) > 100*time.Millisecond {
					late++
				}
			}
			close(next)
			if late > 2 {
				t.Errorf("%d events took more than 100 ms", late)
			}
		})
	}
}

func TestAnUploadStreams(t *testing.T) {
	for name, head := range map[string]string{"length": "Content-Length: 11\r\n", "chunked": "Transfer-Encoding: chunked\r\n"} {
		t.Run(name, func(t *testing.T) {
			pieces := []string{"first", "second"}
			app := newApplication(t, func(p *peer) {
				p.head()
				io.WriteString(p.TCPConn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ngo!\r\n")
				for range pieces {
					buffer := make([]byte, 100)
					n, _ := p.Reader.Read(buffer)
					for n > 0 && bytes.HasSuffix(buffer[:n], []byte("\r\n")) && !bytes.ContainsAny(buffer[:n], "fs") {
						n, _ = p.Reader.Read(buffer)
					}
					fmt.Fprintf(p.TCPConn, "%x\r\n%s\r\n", n, buffer[:n])
				}
				p.Reader.Discard(p.Reader.Buffered())
				io.WriteString(p.TCPConn, "0\r\n\r\n")
			})
			c := connect(t, newFront(t, Config{URL: app.url()}))
			c.send("POST /up HTTP/1.1\r\nHost: h\r\n" + head + "\r\n")
			response := c.response("POST") // the answer has begun before the body
			got := make([]byte, 3)
			if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != "go!" {
				t.Fatalf("%q, %v", got, err)
			}
			for _, piece := range pieces {
				if name == "chunked" {
					c.send(fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece))
				} else {
					c.send(piece)
				}
				buffer := make([]byte, 100)
				read := ""
				for !strings.Contains(read, piece) {
					n, err := response.Body.Read(buffer)
					if read += string(buffer[:n]); err != nil && !strings.Contains(read, piece) {
						t.Fatalf("read %q, %v; want %q", read, err, piece)
					}
				}
			}
		})
	}
}

func TestALargeDownloadNeedsLittleMemory(t *testing.T) {
	const size = 256 << 20
	app := newApplication(t, func(p *peer) {
		p.request()
		fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		piece := make([]byte, 64<<10)
		for range size / len(piece) {
			if _, err := p.TCPConn.Write(piece); err != nil {
				return
			}
		}
	})
	c := connect(t, newFront(t, Config{URL: app.url()}))
	c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	response := c.response("GET")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := io.Copy(io.Discard, response.Body)
	runtime.ReadMemStats(&after)
	if n != size || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
}

func TestALargeUploadArrivesWhole(t *testing.T) {
	const size = 32 << 20
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	want := sha256.Sum256(body)
	sums := make(chan string, 1)
	app := newApplication(t, func(p *peer) {
		p.head()
		digest := sha256.New()
		io.CopyN(digest, p.Reader, size)
		sums <- hex.EncodeToString(digest.Sum(nil))
		io.WriteString(p.TCPConn, okay)
	})
	response, _ := exchange(t, newFront(t, Config{URL: app.url()}), "PUT", fmt.Sprintf("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", size, body))
	if got := <-sums; response.StatusCode != 200 || got != hex.EncodeToString(want[:]) {
		t.Errorf("status %d, sum %s", response.StatusCode, got)
	}
}

func TestInterimAnswersPass(t *testing.T) {
	app := newApplication(t, answering("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"+okay))
	front := newFront(t, Config{URL: app.url()})
	c := connect(t, front)
	for range 2 {
		c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		hints := c.response("GET")
		if hints.StatusCode != 103 || !slices.Equal(hints.Header["Link"], []string{"</a>; rel=preload", "</b>"}) {
			t.Errorf("first answer %d %v", hints.StatusCode, hints.Header)
		}
		if processing := c.response("GET"); processing.StatusCode != 102 {
			t.Errorf("second answer %d", processing.StatusCode)
		}
		final := c.response("GET")
		if body, _ := io.ReadAll(final.Body); final.StatusCode != 200 || string(body) != "done" || final.Header["Link"] != nil {
			t.Errorf("final answer %d %v %q", final.StatusCode, final.Header, body)
		}
	}
	response, _ := exchange(t, front, "GET", "GET / HTTP/1.0\r\n\r\n")
	if response.StatusCode != 200 {
		t.Errorf("HTTP/1.0 got %d first", response.StatusCode)
	}
}

func TestExpectContinueIsTheApplicationsToDecide(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
	t.Run("wanted", func(t *testing.T) {
		expected := make(chan []string, 1)
		app := newApplication(t, func(p *peer) {
			r, _ := p.head()
			expected <- r.values("Expect")
			io.WriteString(p.TCPConn, "HTTP/1.1 100 Continue\r\n\r\n")
			body := make([]byte, 4)
			io.ReadFull(p.Reader, body)
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%s", body)
		})
		c := connect(t, newFront(t, Config{URL: app.url()}))
		c.send(head)
		if got := <-expected; !slices.Equal(got, []string{"100-continue"}) {
			t.Errorf("Expect arrived as %q", got)
		}
		if first := c.response("POST"); first.StatusCode != 100 {
			t.Fatalf("first answer %d", first.StatusCode)
		}
		c.send("body")
		if body, _ := io.ReadAll(c.response("POST").Body); string(body) != "body" {
			t.Errorf("body %q", body)
		}
	})
	t.Run("refused", func(t *testing.T) {
		app := newApplication(t, func(p *peer) {
			p.head()
			io.WriteString(p.TCPConn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
			if rest, _ := io.ReadAll(p.Reader); len(rest) > 0 {
				t.Errorf("the application got %q", rest)
			}
		})
		c := connect(t, newFront(t, Config{URL: app.url()}, unhurried))
		c.send(head)
		response := c.response("POST")
		if body, _ := io.ReadAll(response.Body); response.StatusCode != 403 || string(body) != "no" {
			t.Errorf("status %d, body %q", response.StatusCode, body)
		}
	})
	t.Run("not understood", func(t *testing.T) {
		app := newApplication(t, func(p *peer) {
			p.head()
			body := make([]byte, 4)
			io.ReadFull(p.Reader, body)
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%s", body)
		})
		c := connect(t, newFront(t, Config{URL: app.url()}))
		c.send(head)
		if first := c.response("POST"); first.StatusCode != 100 {
			t.Fatalf("first answer %d", first.StatusCode)
		}
		c.send("body")
		if body, _ := io.ReadAll(c.response("POST").Body); string(body) != "body" {
			t.Errorf("body %q", body)
		}
	})
}

func TestAnEarlyAnswerReachesASenderThatIsStillSending(t *testing.T) {
	for name, after := range map[string]func(*peer){"closes": func(*peer) {}, "reads on": func(p *peer) { io.Copy(io.Discard, p.Reader) }} {
		app := newApplication(t, func(p *peer) {
			p.head()
			io.WriteString(p.TCPConn, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
			after(p)
		})
		c := connect(t, newFront(t, Config{URL: app.url()}))
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nbeginning")
		response := c.response("POST")
		body, err := io.ReadAll(response.Body)
		if response.StatusCode != 413 || string(body) != "big" || err != nil || !response.Close {
			t.Errorf("%s: status %d, body %q, %v, close %v", name, response.StatusCode, body, err, response.Close)
		}
		// What follows is no second request.
		io.WriteString(c.TCPConn, "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
		if rest, _ := io.ReadAll(c.reader); len(rest) > 0 {
			t.Errorf("%s: %q follows the answer", name, rest)
		}
		for _, request := range app.seen() {
			t.Errorf("%s: the application saw %s", name, request.line)
		}
	}
}

func TestASenderThatGoesAwayIsGoneForTheApplication(t *testing.T) {
	for name, raw := range map[string]string{
		"waiting":         "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"waiting, posted": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody",
		"sending":         "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nhalf",
		"sending chunks":  "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"broken chunks":   "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nno chunk\r\n",
		"before continue": "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
	} {
		arrived, gone := make(chan struct{}), make(chan struct{})
		app := newApplication(t, func(p *peer) {
			p.head()
			close(arrived)
			io.Copy(io.Discard, p.Reader)
			close(gone)
		})
		c := connect(t, newFront(t, Config{URL: app.url()}))
		c.send(raw)
		<-arrived
		if name != "broken chunks" {
			c.Close()
		}
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the application still waits", name)
		}
	}
}

func TestASenderThatStopsReadingAnswersIsGoneForTheApplication(t *testing.T) {
	gone := make(chan struct{})
	app := newApplication(t, func(p *peer) {
		p.request()
		io.WriteString(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
		for {
			if _, err := p.TCPConn.Write(make([]byte, 64<<10)); err != nil {
				close(gone)
				return
			}
		}
	})
	c := connect(t, newFront(t, Config{URL: app.url()}))
	c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	c.response("GET")
	c.Close()
	<-gone
}

func TestAnUpgradeCarriesBytesBothWays(t *testing.T) {
	app := newApplication(t, func(p *peer) {
		r, _ := p.head()
		if !slices.Equal(r.values("Upgrade"), []string{"websocket"}) || !slices.Equal(r.values("Connection"), []string{"Upgrade"}) || len(r.values("Sidecar-Scope")) > 0 {
			t.Errorf("arrived as %q", r.fields)
		}
		io.WriteString(p.TCPConn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nhello")
		io.Copy(p.TCPConn, p.Reader)
		io.WriteString(p.TCPConn, "bye")
	})
	c := connect(t, newFront(t, Config{URL: app.url()}))
	c.send("GET /chat HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade, Sidecar-Scope\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nSidecar-Scope: evil\r\n\r\nearly")
	response := c.response("GET")
	if response.StatusCode != 101 || response.Header.Get("Upgrade") != "websocket" || response.Header.Get("Sec-Websocket-Accept") != "x" {
		t.Fatalf("answer %d %v", response.StatusCode, response.Header)
	}
	c.expect("hello")
	c.expect("early")
	for _, frame := range []string{"\x81\x05frame", strings.Repeat("x", 100_000), "last"} {
		go io.WriteString(c.TCPConn, frame)
		c.expect(frame)
	}
	c.CloseWrite() // the other direction goes on
	c.expect("bye")
	if rest, err := io.ReadAll(c.reader); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v after the end", rest, err)
	}
}

func TestAnUpgradeEndsWithEitherSide(t *testing.T) {
	for _, who := range []string{"sender", "application"} {
		gone := make(chan struct{})
		app := newApplication(t, func(p *peer) {
			p.head()
			io.WriteString(p.TCPConn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			if who == "application" {
				p.reset()
			} else {
				p.Read(make([]byte, 1))
			}
			close(gone)
		})
		c := connect(t, newFront(t, Config{URL: app.url()}))
		c.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		c.response("GET")
		if who == "sender" {
			c.SetLinger(0)
			c.Close()
		} else {
			c.reader.ReadByte()
		}
		<-gone
	}
}

func TestARefusedUpgradeIsAnAnswer(t *testing.T) {
	app := newApplication(t, answering("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno"))
	response, body := exchange(t, newFront(t, Config{URL: app.url()}), "GET", "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
	if response.StatusCode != 426 || body != "no" {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
}

func TestHTTP2IsNotPassedAsAnUpgrade(t *testing.T) {
	app := newApplication(t, answering(okay))
	front := newFront(t, Config{URL: app.url()})
	for _, upgrade := range []string{"h2c", "H2C", "websocket, h2c", "h2"} {
		exchange(t, front, "GET", "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "+upgrade+"\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
		seen := app.seen()
		if got := seen[len(seen)-1]; len(got.fields) != 2 {
			t.Errorf("%s: the application saw %q", upgrade, got.fields)
		}
	}
}

// newHTTP2Application serves a handler over HTTP/2 without TLS only, as a gRPC server does.
func newHTTP2Application(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

func newHTTP2Client(t *testing.T) *http.Transport {
	client := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
	client.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestACallOverHTTP2StreamsBothWaysWithTrailers(t *testing.T) {
	app := newHTTP2Application(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.RequestURI != "/pkg.Service/Method?q=a;b" || r.Host != "hooks.example.test" || r.Header.Get("Te") != "trailers" {
			t.Errorf("arrived as %s %s %s %v", r.Proto, r.RequestURI, r.Host, r.Header)
		}
		for _, name := range []string{"User-Agent", "Accept-Encoding", "Sidecar-Scope", "X-Original-Url"} {
			if _, found := r.Header[name]; found {
				t.Errorf("the application saw %s", name)
			}
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			io.WriteString(w, "echo "+line)
			http.NewResponseController(w).Flush()
		}
		if got := r.Trailer.Get("X-Sum"); got != "abc" || r.Trailer.Get("Sidecar-Scope") != "" {
			t.Errorf("request trailer %v", r.Trailer)
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	front := newFront(t, Config{URL: app})
	body, writer := io.Pipe()
	request, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+front+"/pkg.Service/Method?q=a;b", body)
	request.Host = "hooks.example.test"
	request.Header = http.Header{"Te": {"trailers"}, "User-Agent": nil, "Sidecar-Scope": {"evil"}, "X-Original-Url": {"/evil"}}
	request.Trailer = http.Header{"X-Sum": nil, "Sidecar-Scope": nil}
	response, err := newHTTP2Client(t).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for i := range 3 {
		fmt.Fprintf(writer, "message %d\n", i)
		if got, err := lines.ReadString('\n'); got != fmt.Sprintf("echo message %d\n", i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	request.Trailer.Set("X-Sum", "abc")
	request.Trailer.Set("Sidecar-Scope", "evil")
	writer.Close()
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if response.Trailer.Get("Grpc-Status") != "0" || response.Header.Get("Content-Type") != "application/grpc" {
		t.Errorf("header %v, trailer %v", response.Header, response.Trailer)
	}
}

func TestHTTP2AnswersPassUnchanged(t *testing.T) {
	app := newHTTP2Application(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(103)
		w.Header().Del("Link")
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		if r.Header.Get("X-Forwarded-For") != "203.0.113.7, 127.0.0.1" {
			t.Errorf("X-Forwarded-For %q", r.Header["X-Forwarded-For"])
		}
		w.Header()["X-Many"] = []string{"1", "1"}
		io.WriteString(w, "<html>"+r.RequestURI)
	})
	front := newFront(t, Config{URL: app})
	for _, target := range []string{"/", "//a", "/a%2Fb?c%2Fd", "/a/../b", "/q?a=1;b=2&c=%zz", "/?"} {
		hints := make(chan int, 1)
		trace := &httptrace.ClientTrace{Got1xxResponse: func(status int, _ textproto.MIMEHeader) error { hints <- status; return nil }}
		request, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", "http://"+front, nil)
		request.URL.Opaque = target
		if strings.HasPrefix(target, "//") {
			request.URL.Opaque, request.URL.Path = "", target
		}
		request.Header = http.Header{"X-Forwarded-For": {"203.0.113.7"}, "User-Agent": nil}
		response, err := newHTTP2Client(t).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(body) != "<html>"+target || <-hints != 103 {
			t.Errorf("%q arrived as %q", target, body)
		}
		for _, name := range []string{"Date", "Content-Type", "Link"} {
			if _, found := response.Header[name]; found {
				t.Errorf("%s %q was added", name, response.Header[name])
			}
		}
		if !slices.Equal(response.Header["X-Many"], []string{"1", "1"}) {
			t.Errorf("X-Many %q", response.Header["X-Many"])
		}
	}
}

func TestHTTP2FaultsAreReported(t *testing.T) {
	errs, arrived, gone := make(chan error, 1), make(chan struct{}), make(chan struct{})
	app := newHTTP2Application(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			close(arrived)
			<-r.Context().Done()
			close(gone)
		}
		panic(http.ErrAbortHandler)
	})
	front := newFront(t, Config{URL: app, OnError: onError(errs)})
	call := func(ctx context.Context, path string) (*http.Response, error) {
		request, _ := http.NewRequestWithContext(ctx, "POST", "http://"+front+path, nil)
		return newHTTP2Client(t).RoundTrip(request)
	}
	if response, err := call(t.Context(), "/abort"); err != nil || response.StatusCode != 599 {
		t.Errorf("%v, %v", response, err)
	}
	if err := <-errs; !strings.Contains(err.Error(), ErrIncomplete.Error()) {
		t.Errorf("reported %v", err)
	}
	nobody := newFront(t, Config{URL: "http://" + testenv.Address(t), OnError: onError(errs)})
	request, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+nobody, nil)
	if response, err := newHTTP2Client(t).RoundTrip(request); err != nil || response.StatusCode != 599 {
		t.Errorf("%v, %v", response, err)
	}
	if err := <-errs; !errors.Is(err, ErrUnreachable) {
		t.Errorf("reported %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := call(ctx, "/hang"); err == nil {
		t.Error("a call that was given up was answered")
	}
	<-gone // the application hears of it
}

// Whoever has set the application a time is told that it was over, as long as nothing of an answer has passed.
func TestATimeThatIsSetEndsAPassage(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the end of the connection is noticed
		if r.URL.Path == "/begun" {
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
	one := httptest.NewServer(http.HandlerFunc(slow))
	t.Cleanup(one.Close)
	for name, c := range map[string]struct {
		app    string
		client http.RoundTripper
	}{
		"HTTP/1": {one.URL, &http.Transport{DisableKeepAlives: true}}, "HTTP/2": {newHTTP2Application(t, slow), newHTTP2Client(t)},
	} {
		errs, begun := make(chan error, 1), make(chan struct{})
		p, err := NewPassthrough(Config{URL: c.app, OnError: onError(errs)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, end := context.WithCancelCause(r.Context())
			defer end(nil)
			if r.URL.Path == "/begun" {
				go func() {
					<-begun
					end(ErrTimedOut)
				}()
			} else {
				defer time.AfterFunc(300*time.Millisecond, func() { end(ErrTimedOut) }).Stop()
			}
			p.ServeHTTP(w, r.WithContext(ctx))
		}))
		front.Config.Protocols = new(http.Protocols)
		front.Config.Protocols.SetHTTP1(true)
		front.Config.Protocols.SetUnencryptedHTTP2(true)
		front.Start()
		t.Cleanup(front.Close)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			request, _ := http.NewRequestWithContext(t.Context(), method, front.URL+"/", strings.NewReader("body"))
			response, err := c.client.RoundTrip(request)
			if err != nil || response.StatusCode != 599 {
				t.Fatalf("%s %s: %v, %v", name, method, response, err)
			}
			response.Body.Close()
			if err := <-errs; !errors.Is(err, ErrTimedOut) {
				t.Errorf("%s %s: reported %v", name, method, err)
			}
		}
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/begun", nil)
		response, err := c.client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		close(begun)
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%s: an answer that was broken off looks whole", name)
		}
		response.Body.Close()
	}
}

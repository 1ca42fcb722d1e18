package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// newFront serves a Passthrough to the application as the sidecar's listener does, and returns its address.
func newFront(t *testing.T, c Config, change ...func(*Passthrough)) string {
	t.Helper()
	p, err := NewPassthrough(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(p)
	}
	t.Cleanup(p.Close)
	return newListener(t, p)
}

// unhurried gives a sender and an application all the time that a busy machine may need.
func unhurried(p *Passthrough) { p.grace, p.patience = 20*time.Second, 20*time.Second }

// newListener serves a handler as the sidecar's listener does, and returns its address.
func newListener(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.DisableGeneralOptionsHandler = true
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// client is a raw connection.
type client struct {
	*net.TCPConn
	reader *bufio.Reader
	t      *testing.T
}

func connect(t *testing.T, address string) *client {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{connection.(*net.TCPConn), bufio.NewReader(connection), t}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.TCPConn, text); err != nil {
		c.t.Fatal(err)
	}
}

// response reads one header section, and leaves the body.
func (c *client) response(method string) *http.Response {
	c.t.Helper()
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	return response
}

func (c *client) expect(text string) {
	c.t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c.reader, got); err != nil || string(got) != text {
		c.t.Fatalf("read %q, %v; want %q", got, err, text)
	}
}

// exchange sends a raw request and returns the whole answer.
func exchange(t *testing.T, address, method, raw string) (*http.Response, string) {
	t.Helper()
	c := connect(t, address)
	c.send(raw)
	response := c.response(method)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("body: %v", err)
	}
	return response, string(body)
}

// arrives sends a raw request directly and through, and compares what the application saw, byte for byte in the request
// line, the body and the fields, whose order between different names is free.
func arrives(t *testing.T, app *application, front, method, raw string) received {
	t.Helper()
	before := len(app.seen())
	exchange(t, app.address(), method, raw)
	exchange(t, front, method, raw)
	seen := app.seen()[before:]
	if len(seen) != 2 {
		t.Fatalf("%.60q: %d requests arrived, want 2", raw, len(seen))
	}
	direct, through := seen[0], seen[1]
	if direct.line != through.line || !bytes.Equal(direct.body, through.body) {
		t.Errorf("%.60q arrived as %.60q with %d bytes, directly as %.60q with %d", raw, through.line, len(through.body), direct.line, len(direct.body))
	}
	if got, want := fieldsOf(through), fieldsOf(direct); !slices.Equal(got, want) {
		t.Errorf("%.60q: fields arrived as %q, directly as %q", raw, got, want)
	}
	return through
}

// fieldsOf is the fields by name, without what is added by contract.
func fieldsOf(r received) []string {
	var fields []string
	for _, field := range r.fields {
		name, value, _ := strings.Cut(field, ":")
		if !strings.EqualFold(name, "X-Forwarded-For") && !strings.EqualFold(name, "Connection") {
			fields = append(fields, canonical(name)+": "+strings.TrimSpace(value))
		}
	}
	slices.SortStableFunc(fields, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, ":")
		nameB, _, _ := strings.Cut(b, ":")
		return strings.Compare(nameA, nameB)
	})
	return fields
}

func TestTargetsAndQueriesPassByteForByte(t *testing.T) {
	app := newApplication(t, answering(okay))
	front := newFront(t, Config{URL: app.url()})
	targets := []string{
		"/", "/a", "/a/", "/a//b", "//a", "///a//", "/a/./b", "/a/../b", "/a%2Fb", "/a%2fb", "/%61", "/a%20b", "/a+b", "/caf%C3%A9", "/a;v=1/b",
		"/a:b@c", "/a!$&'()*,=~", "/a%00b", "/.", "/..", "/a%252Fb", "/*", "/a{b}|^`\"<>\\c", "//a{b}\\", "/caf\xc3\xa9", "/\xff", "/a#b", "/#",
		"/q?", "/q??", "/q?a=1;b=2&c=%zz", "/q?&&", "/q?=", "/q?a", "/q?%", "/q?a+b%20c", "/q?A=%2f%2F", "/q?{}|^`\"<>\\", "/q?a=/../b//c",
		"/q?utf8=%E2%9C%93&a[]=1", "/?", "/a%2Fb?c%2Fd", "/q?#x", "//q?//", "/q?" + strings.Repeat("key=value&", 3000),
		"http://hooks.example.test/path?q=1;2", "http://hooks.example.test", "*",
	}
	for _, target := range targets {
		arrives(t, app, front, "OPTIONS", "OPTIONS "+target+" HTTP/1.1\r\nHost: hooks.example.test\r\n\r\n")
		if target != "*" {
			arrives(t, app, front, "GET", "GET "+target+" HTTP/1.1\r\nHost: hooks.example.test\r\n\r\n")
			arrives(t, app, front, "POST", "POST "+target+" HTTP/1.1\r\nHost: hooks.example.test\r\nContent-Length: 4\r\n\r\nbody")
		}
	}
}

func TestMethodsFieldsAndBodiesPassUnchanged(t *testing.T) {
	app := newApplication(t, answering("HTTP/1.1 204 No Content\r\n\r\n"))
	front := newFront(t, Config{URL: app.url()})
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "get", "Patch", "M-SEARCH", "X_Y", "TRACE", "HEAD"} {
		arrives(t, app, front, method, method+" /m HTTP/1.1\r\nHost: h\r\n\r\n")
		arrives(t, app, front, method, method+" /m HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\na body")
		arrives(t, app, front, method, method+" /m HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	}
	fields := "Accept: text/html\r\nAccept: */*;q=0.1\r\nCookie: a=1\r\nCookie: b=2; c=3\r\nX-Empty:\r\nX-Many: 1\r\nX-Many: 1\r\nX-Many: 2\r\n" +
		"My_Header: kept\r\nX-Long: " + strings.Repeat("x", 100_000) + "\r\nX-Latin: caf\xe9\r\nUser-Agent: sender/1.0\r\nAccept-Encoding: gzip, br\r\n" +
		"Range: bytes=0-1\r\nTE: trailers\r\nX-Custom:   inner  spaces \r\nForwarded: for=1.2.3.4\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: public.test\r\n" +
		"Idempotency-Key: the sender's\r\ntraceparent: 00-x\r\nTracestate: a=b\r\nbaggage: c\r\nDate: Tue, 01 Jan 2019 00:00:00 GMT\r\nIf-Match: \"a\"\r\nAuthorization: Bearer x\r\n"
	arrives(t, app, front, "GET", "GET /f HTTP/1.1\r\nHost: h\r\n"+fields+"\r\n")
	arrives(t, app, front, "POST", "POST /f HTTP/1.1\r\nHost: h\r\n"+fields+"Content-Length: 4\r\n\r\nbody")
	arrives(t, app, front, "GET", "GET /f HTTP/1.1\r\nHost:\r\n\r\n")
	large := strings.Repeat("\x00\xff\r\n0123456789ab", 1<<17)
	arrives(t, app, front, "POST", fmt.Sprintf("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(large), large))
	for _, chunks := range []string{"", "4\r\nbody\r\n", "1\r\nb\r\n3;ext=1\r\nody\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(large), large)} {
		arrives(t, app, front, "POST", "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks+"0\r\n\r\n")
		arrives(t, app, front, "GET", "GET /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\nTrailer: X-Sum\r\n\r\n"+chunks+"0\r\nX-Sum: abc\r\nX-Unannounced: 1\r\n\r\n")
	}
}

func TestOnlyThePeerIsAdded(t *testing.T) {
	app := newApplication(t, answering(okay))
	front := newFront(t, Config{URL: app.url()})
	for _, sent := range []string{"", "X-Forwarded-For:\r\n", "X-Forwarded-For: 203.0.113.7\r\n", "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For:\r\n", "X-Forwarded-For: 203.0.113.7, 198.51.100.2\r\n", "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For: 198.51.100.2\r\nConnection: X-Forwarded-For\r\n"} {
		exchange(t, front, "GET", "GET / HTTP/1.1\r\nHost: h\r\n"+sent+"\r\n")
		seen := app.seen()
		got := seen[len(seen)-1]
		want := "127.0.0.1"
		if strings.Contains(sent, "198") {
			want = "203.0.113.7, 198.51.100.2, 127.0.0.1"
		} else if strings.Contains(sent, "203") {
			want = "203.0.113.7, 127.0.0.1"
		}
		if values := got.values("X-Forwarded-For"); !slices.Equal(values, []string{want}) || len(got.fields) != 2 {
			t.Errorf("after %q the application saw %q", sent, got.fields)
		}
	}
}

func TestWhatOnlyTheSidecarMaySayDoesNotPass(t *testing.T) {
	app := newApplication(t, answering(okay))
	front := newFront(t, Config{URL: app.url()})
	exchange(t, front, "POST", "POST / HTTP/1.1\r\nHost: h\r\nSidecar-Scope: evil\r\nsidecar_attempt: evil\r\nSIDECAR-Event-Type: evil\r\nX-Original-URL: /evil\r\n"+
		"x-rewrite-url: /evil\r\nX_Original_URL: /evil\r\nConnection: close, X-Hop\r\nX-Hop: evil\r\nKeep-Alive: evil\r\nProxy-Connection: evil\r\nKept: 1\r\n"+
		"Transfer-Encoding: chunked\r\nTrailer: Sidecar-Scope, Fine\r\n\r\n1\r\nx\r\n0\r\nSidecar-Scope: evil\r\nsidecar_x: evil\r\nFine: 1\r\n\r\n")
	got := app.seen()[0]
	for _, field := range got.fields {
		if strings.Contains(field, "evil") || strings.Contains(strings.ToLower(field), "sidecar") {
			t.Errorf("the application saw %q", field)
		}
	}
	if len(got.values("Kept")) != 1 || !slices.Contains(got.fields, "(trailer) Fine: 1") {
		t.Errorf("the application saw %q", got.fields)
	}
}

func TestAnswersPassUnchanged(t *testing.T) {
	for name, c := range map[string]struct {
		method, answer string
	}{
		"fields":                       {"GET", "HTTP/1.1 418 I'm a teapot\r\nContent-Type: text/x-odd\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Many: 1\r\nX-Many: 1\r\nServer: app\r\nDate: Tue, 01 Jan 2019 00:00:00 GMT\r\nContent-Length: 4\r\n\r\nbo\x00\xff"},
		"nothing said":                 {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"},
		"compressed":                   {"GET", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\n\x1f\x8bnot!"},
		"redirect":                     {"GET", "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.test/to?a=1;b\r\nContent-Length: 0\r\n\r\n"},
		"head":                         {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nEtag: x\r\n\r\n"},
		"head without length":          {"HEAD", "HTTP/1.1 200 OK\r\nEtag: x\r\n\r\n"},
		"no content":                   {"GET", "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n"},
		"not modified":                 {"GET", "HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n"},
		"not modified, described":      {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Type: text/x-odd\r\nContent-Length: 1234\r\nContent-Encoding: gzip\r\n\r\n"},
		"head not modified, described": {"HEAD", "HTTP/1.1 304 Not Modified\r\nContent-Type: text/x-odd\r\nContent-Length: 1234\r\nLast-Modified: x\r\n\r\n"},
		"another protocol is required": {"GET", "HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\nContent-Length: 2\r\n\r\nno"},
		"empty":                        {"POST", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"authenticate":                 {"GET", "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"},
		"status 599":                   {"GET", "HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n"},
		"status 799":                   {"GET", "HTTP/1.1 799 Odder\r\nContent-Length: 0\r\n\r\n"},
		"chunked":                      {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\n\r\n"},
		"large":                        {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("0123456789", 100_000)},
		"large and chunked":            {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("a\r\n0123456789\r\n", 50_000) + "0\r\n\r\n"},
		"trailers":                     {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Not\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: abc\r\nX-More: 1\r\n\r\n"},
		"empty with trailers":          {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n0\r\nX-Sum: abc\r\n\r\n"},
		"ours stays":                   {"GET", "HTTP/1.1 200 OK\r\nSidecar-Receipt: the application's own\r\nContent-Length: 0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(t, answering(c.answer))
			front := newFront(t, Config{URL: app.url(), IdleTimeout: time.Minute})
			request := c.method + " / HTTP/1.1\r\nHost: h\r\n"
			if c.method == "POST" {
				request += "Content-Length: 0\r\n"
			}
			want, wantBody := exchange(t, app.address(), c.method, request+"\r\n")
			connection := connect(t, front)
			for range 3 {
				connection.send(request + "\r\n")
				got := connection.response(c.method)
				body, err := io.ReadAll(got.Body)
				if err != nil || got.StatusCode != want.StatusCode || string(body) != wantBody {
					t.Fatalf("status %d, %d bytes, %v; directly %d, %d bytes", got.StatusCode, len(body), err, want.StatusCode, len(wantBody))
				}
				expectFields(t, "header", got.Header, want.Header)
				expectFields(t, "trailer", got.Trailer, want.Trailer)
			}
			if app.connections() != 2 {
				t.Errorf("%d connections for a direct request and three through", app.connections())
			}
		})
	}
}

func expectFields(t *testing.T, what string, got, want http.Header) {
	t.Helper()
	for name, values := range want {
		if len(values) > 0 && !slices.Equal(got[name], values) {
			t.Errorf("%s: %s came as %q, directly as %q", what, name, got[name], values)
		}
	}
	for name, values := range got {
		if _, sent := want[name]; !sent && len(values) > 0 {
			t.Errorf("%s: %s %q was added", what, name, values)
		}
	}
}

func TestAnAnswerUntilClosePasses(t *testing.T) {
	app := newApplication(t, func(p *peer) {
		p.request()
		io.WriteString(p.TCPConn, "HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nuntil the end")
	})
	front := newFront(t, Config{URL: app.url()})
	response, body := exchange(t, front, "GET", "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if response.StatusCode != 200 || body != "until the end" || response.Header.Get("X-A") != "b" {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
	response, body = exchange(t, front, "GET", "GET / HTTP/1.0\r\n\r\n")
	if response.StatusCode != 200 || body != "until the end" {
		t.Errorf("HTTP/1.0: status %d, body %q", response.StatusCode, body)
	}
}

func TestAnOldSenderGetsNoChunks(t *testing.T) {
	app := newApplication(t, answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"))
	response, body := exchange(t, newFront(t, Config{URL: app.url()}), "GET", "GET / HTTP/1.0\r\n\r\n")
	if response.StatusCode != 200 || body != "body" || len(response.TransferEncoding) > 0 {
		t.Errorf("status %d, body %q, transfer encoding %q", response.StatusCode, body, response.TransferEncoding)
	}
	if got := app.seen()[0]; got.line != "GET / HTTP/1.1" || !slices.Equal(got.values("Host"), []string{app.address()}) {
		t.Errorf("arrived as %q %q", got.line, got.fields)
	}
}

// onError keeps what the passthrough reports.
func onError(errs chan<- error) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, _ *http.Request, err error) {
		errs <- err
		w.WriteHeader(599)
	}
}

func TestAnApplicationThatCannotAnswerIsReported(t *testing.T) {
	errs := make(chan error, 1)
	front := newFront(t, Config{URL: "http://" + testenv.Address(t), OnError: onError(errs)})
	for _, raw := range []string{"GET /secret?secret HTTP/1.1\r\nHost: h\r\n\r\n", "POST /secret?secret HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nsecret"} {
		if response, _ := exchange(t, front, "GET", raw); response.StatusCode != 599 {
			t.Errorf("status %d", response.StatusCode)
		}
		if err := <-errs; !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v", err)
		}
	}
	for name, answer := range map[string]string{"nothing": "", "garbage": "garbage\r\n\r\n", "half a header": "HTTP/1.1 200 OK\r\nX", "unasked switch": "HTTP/1.1 101 X\r\n\r\n"} {
		app := newApplication(t, func(p *peer) {
			p.request()
			io.WriteString(p.TCPConn, answer)
		})
		front := newFront(t, Config{URL: app.url(), OnError: onError(errs)})
		for _, raw := range []string{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"} {
			if response, _ := exchange(t, front, "GET", raw); response.StatusCode != 599 {
				t.Errorf("%s: status %d", name, response.StatusCode)
			}
			if err := <-errs; !errors.Is(err, ErrIncomplete) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if n := len(app.seen()); n != 3 {
			t.Errorf("%s: 3 requests arrived %d times", name, n)
		}
	}
}

// An application that hangs up in the middle of a body is gone, not its sender, who is told so: one that waits, one that
// goes on sending meanwhile, and one that had sent all.
func TestASenderInTheMiddleOfABodyIsToldThatTheApplicationIsGone(t *testing.T) {
	const half = 40 << 10
	errs := make(chan error, 1)
	for _, hangUp := range []string{"at once", "with a reset", "in the middle of an answer"} {
		for _, framing := range []string{"length", "chunks"} {
			for _, sender := range []string{"waits", "goes on", "has sent all"} {
				proceed := make(chan struct{})
				app := newApplication(t, func(p *peer) {
					p.head()
					<-proceed
					switch hangUp {
					case "with a reset":
						p.SetLinger(0)
					case "in the middle of an answer":
						io.WriteString(p.TCPConn, "HTTP/1.1 200 OK\r\nX")
					}
				})
				c := connect(t, newFront(t, Config{URL: app.url(), OnError: onError(errs)}))
				head, first, second := halves(framing, half)
				c.send(head + first)
				if sender == "has sent all" {
					c.send(second)
				}
				close(proceed)
				if sender == "goes on" {
					io.WriteString(c.TCPConn, second) // may fail, once the answer is on its way
				}
				if response := c.response("POST"); response.StatusCode != 599 {
					t.Errorf("%s, %s, sender %s: status %d", hangUp, framing, sender, response.StatusCode)
				}
				if err := <-errs; !errors.Is(err, ErrIncomplete) {
					t.Errorf("%s, %s, sender %s: error %v", hangUp, framing, sender, err)
				}
			}
		}
	}
}

// halves is a request with a body of two pieces of some size.
func halves(framing string, size int) (head, first, second string) {
	piece := strings.Repeat("b", size)
	if framing == "chunks" {
		chunk := fmt.Sprintf("%x\r\n%s\r\n", size, piece)
		return "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, chunk + "0\r\n\r\n"
	}
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", 2*size), piece, piece
}

func TestACutOffAnswerIsNotMadeWhole(t *testing.T) {
	for name, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		app := newApplication(t, func(p *peer) {
			p.request()
			io.WriteString(p.TCPConn, answer)
		})
		c := connect(t, newFront(t, Config{URL: app.url()}))
		c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		body, err := io.ReadAll(c.response("GET").Body)
		if err == nil || string(body) != "half" {
			t.Errorf("%s: body %q, %v", name, body, err)
		}
	}
}

// A request that a dying connection swallowed is repeated only where that is safe.
func TestARequestThatMayHaveArrivedIsNotRepeated(t *testing.T) {
	for raw, repeated := range map[string]bool{
		"POST / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n":                   false,
		"POST / HTTP/1.1\r\nHost: h\r\nX-Idempotency-Key: k\r\nContent-Length: 4\r\n\r\nbody":             false,
		"DELETE / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\n\r\n":                                      false,
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody":                                      false,
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n":                  false,
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n":                                                               true,
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nIdempotency-Key: k\r\n\r\n0\r\n\r\n": false,
	} {
		app := newApplication(t, func(p *peer) {
			p.request()
			io.WriteString(p.TCPConn, okay)
			p.request()
			if p.number > 0 {
				io.WriteString(p.TCPConn, okay)
			}
		})
		front := newFront(t, Config{URL: app.url(), IdleTimeout: time.Minute})
		exchange(t, front, "GET", "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		response, _ := exchange(t, front, "GET", raw)
		want, requests := 502, 2
		if repeated {
			want, requests = 200, 3
		}
		if n := len(app.seen()); response.StatusCode != want || n != requests {
			t.Errorf("%.50q: status %d after %d requests, want %d after %d", raw, response.StatusCode, n, want, requests)
		}
	}
}

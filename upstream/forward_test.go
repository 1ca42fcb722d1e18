package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

func newUpstream(t *testing.T, c Config) *Upstream {
	t.Helper()
	u, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

func attempt(header http.Header, body string) Attempt {
	if header == nil {
		header = http.Header{}
	}
	return Attempt{
		Delivery: &delivery.Delivery{
			Method: "POST", Target: "/hooks/orders?a=1;b=2&c=%zz", Host: "hooks.example.test", Header: header, Body: []byte(body), Peer: "192.0.2.1",
		},
		Scope: "acme/orders", EventType: "order.paid", Number: 3, KeyHeader: "Idempotency-Key", KeyValue: "evt-1",
		TraceParent: "00-11111111111111111111111111111111-2222222222222222-01", Timeout: 5 * time.Second,
	}
}

func expectAnswer(t *testing.T, got delivery.Result, status int, body string) {
	t.Helper()
	if got.Outcome != delivery.Answered || got.Cause != delivery.NoCause || got.Response.Status != status || string(got.Response.Body) != body {
		t.Errorf("result %d %v, status %d, body %q; want an answer with %d %q", got.Outcome, got.Cause, got.Response.Status, got.Response.Body, status, body)
	}
}

func expectNone(t *testing.T, got delivery.Result, outcome delivery.Outcome, cause delivery.Cause) {
	t.Helper()
	if got.Outcome != outcome || got.Cause != cause {
		t.Errorf("result is outcome %d, cause %v; want %d, %v", got.Outcome, got.Cause, outcome, cause)
	}
}

func TestAnAttemptIsTheSendersRequestWithOurFieldsLast(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url() + "/"})
	body := "{\"id\": \"evt-1\"}\r\n\x00\xff"
	result := u.Forward(t.Context(), attempt(http.Header{
		"X-Many": {"1", "1", "2"}, "My_header": {"kept"}, "X-Empty": {""}, "Content-Length": {"999"}, "Content-Type": {"application/json"},
		"X-Latin": {"caf\xe9"}, "X-Forwarded-For": {"203.0.113.7", "198.51.100.2"}, "X-Forwarded-Proto": {"https"}, "User-Agent": {"sender/1.0"},
	}, body))
	expectAnswer(t, result, 200, "done")
	seen := app.seen()
	if len(seen) != 1 {
		t.Fatalf("%d requests arrived", len(seen))
	}
	got := seen[0]
	if got.line != "POST /hooks/orders?a=1;b=2&c=%zz HTTP/1.1" || string(got.body) != body {
		t.Errorf("arrived as %q with body %q", got.line, got.body)
	}
	for name, want := range map[string][]string{
		"Host": {"hooks.example.test"}, "X-Many": {"1", "1", "2"}, "My_header": {"kept"}, "X-Empty": {""}, "X-Latin": {"caf\xe9"},
		"Content-Length": {fmt.Sprint(len(body))}, "Content-Type": {"application/json"}, "X-Forwarded-Proto": {"https"},
		"X-Forwarded-For": {"203.0.113.7, 198.51.100.2, 192.0.2.1"}, "User-Agent": {"sender/1.0"},
		"Idempotency-Key": {"evt-1"}, "Sidecar-Scope": {"acme/orders"}, "Sidecar-Attempt": {"3"}, "Sidecar-Event-Type": {"order.paid"},
		"traceparent": {"00-11111111111111111111111111111111-2222222222222222-01"},
	} {
		if values := got.values(name); !slices.Equal(values, want) {
			t.Errorf("%s arrived as %q, want %q", name, values, want)
		}
	}
	if ours := got.fields[len(got.fields)-5]; ours != "Idempotency-Key: evt-1" {
		t.Errorf("fields arrived as %q, ours should be the last", got.fields)
	}
}

func TestNothingIsAddedThatNobodyAskedFor(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url()})
	a := attempt(nil, "")
	a.EventType, a.TraceParent, a.Delivery.Method, a.Delivery.Peer, a.Delivery.Host = "", "", "GET", "", ""
	expectAnswer(t, u.Forward(t.Context(), a), 200, "done")
	want := []string{"Host: " + app.address(), "Idempotency-Key: evt-1", "Sidecar-Scope: acme/orders", "Sidecar-Attempt: 3"}
	if got := app.seen()[0].fields; !slices.Equal(got, want) {
		t.Errorf("fields arrived as %q, want %q", got, want)
	}
}

func TestWhatLooksLikeOursOrBelongsToTheHopStaysBehind(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url()})
	header := http.Header{"Connection": {"close, Idempotency-Key", "X-Hop , Sidecar-Scope,traceparent"}, "X-Kept": {"1"}, "Webhook_id": {"kept"}}
	for _, name := range []string{
		"X-Hop", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Http2-Settings", "Accept-Encoding", "X-Original-URL", "X-Rewrite-URL", "x_original_url", "Sidecar-Scope", "sidecar_scope", "SIDECAR_ATTEMPT",
		"Sidecar-Anything", "Sidecar_", "Idempotency-Key", "idempotency_key", "IDEMPOTENCY-key", "idempotency_Key", "Traceparent", "Trace_parent_x",
		"TRACESTATE", "baggage", "Baggage",
	} {
		header[canonical(name)] = append(header[canonical(name)], "evil")
		header[name] = []string{"evil"}
	}
	delete(header, "Trace_parent_x")
	expectAnswer(t, u.Forward(t.Context(), attempt(header, "{}")), 200, "done")
	for _, field := range app.seen()[0].fields {
		if strings.Contains(field, "evil") {
			t.Errorf("the application saw %q", field)
		}
	}
	for name, want := range map[string]string{"X-Kept": "1", "Webhook_id": "kept", "Idempotency-Key": "evt-1", "Sidecar-Scope": "acme/orders"} {
		if got := app.seen()[0].values(name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s arrived as %q", name, got)
		}
	}
}

func TestAnotherIdempotencyHeaderLeavesTheUsualOneToTheSender(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url()})
	a := attempt(http.Header{"Idempotency-Key": {"the sender's"}, "X_event_key": {"evil"}}, "{}")
	a.KeyHeader = "X-Event-Key"
	expectAnswer(t, u.Forward(t.Context(), a), 200, "done")
	if got := app.seen()[0].values("Idempotency-Key"); !slices.Equal(got, []string{"the sender's"}) {
		t.Errorf("Idempotency-Key arrived as %q", got)
	}
	if got := app.seen()[0]; !slices.Equal(got.values("X-Event-Key"), []string{"evt-1"}) || len(got.values("X_Event_Key")) > 0 {
		t.Errorf("fields arrived as %q", got.fields)
	}
}

func TestAFieldCannotEndTheHeaderSection(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url()})
	expectAnswer(t, u.Forward(t.Context(), attempt(http.Header{"X-Bad": {"a\r\nX-Evil: 1", "fine"}}, "{}")), 200, "done")
	if got := app.seen()[0]; len(got.values("X-Evil")) > 0 || !slices.Equal(got.values("X-Bad"), []string{"fine"}) {
		t.Errorf("fields arrived as %q", got.fields)
	}
}

func TestAnswersAreReadToTheirCleanEnd(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	for name, c := range map[string]struct {
		answer string
		status int
		body   string
		reused bool
	}{
		"length":                {"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nbody", 201, "body", true},
		"empty":                 {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", true},
		"chunked":               {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\n\r\n", 200, "body", true},
		"chunked with trailers": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n4\r\nbody\r\n0\r\nX-T: 1\r\n\r\n", 200, "body", true},
		"no content":            {"HTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
		"not modified":          {"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", 304, "", true},
		"long":                  {"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + long, 200, long, true},
		"until close":           {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody", 200, "body", false},
		"HTTP/1.0":              {"HTTP/1.0 200 OK\r\n\r\n" + long, 200, long, false},
		"announced close":       {"HTTP/1.1 500 Oops\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody", 500, "body", false},
		"no reason":             {"HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n", 599, "", true},
		"interim first":         {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", 200, "body", true},
		"impatient":             {"HTTP/1.1 200 OK\r\nKeep-Alive: max=5, timeout=0\r\nContent-Length: 4\r\n\r\nbody", 200, "body", false},
		"more than announced":   {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\n\r\n", 200, "body", false},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(t, func(p *peer) {
				for {
					if _, ok := p.request(); !ok {
						return
					}
					io.WriteString(p.TCPConn, c.answer)
					if strings.Contains(c.answer, "Connection: close") || strings.HasPrefix(c.answer, "HTTP/1.0") {
						return
					}
				}
			})
			u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
			for range 2 {
				got := u.Forward(t.Context(), attempt(nil, "{}"))
				expectAnswer(t, got, c.status, c.body)
				for _, hop := range []string{"Connection", "Transfer-Encoding", "Keep-Alive", "Trailer", "Content-Length"} {
					if _, found := got.Response.Header[hop]; found {
						t.Errorf("the response has %s", hop)
					}
				}
			}
			if reused := app.connections() == 1; reused != c.reused {
				t.Errorf("%d connections for two attempts", app.connections())
			}
		})
	}
}

func TestWhatIsNoCompleteAnswerIsUnknown(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":                   "",
		"garbage":                   "\x16\x03\x01 garbage\r\n\r\n",
		"another protocol":          "SSH-2.0-OpenSSH\r\n",
		"half a status line":        "HTTP/1.1 20",
		"half a header":             "HTTP/1.1 200 OK\r\nContent-Le",
		"short body":                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody",
		"short chunk":               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbody",
		"no last chunk":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
		"no end of trailers":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n",
		"bad chunk size":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nbody\r\n0\r\n\r\n",
		"bad length":                "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody",
		"two lengths":               "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
		"unknown transfer encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nbody",
		"switched protocols":        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		"endless interim answers":   strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 100),
		"interim answer only":       "HTTP/1.1 100 Continue\r\n\r\n",
		"endless header":            "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"status 700":                "HTTP/1.1 700 Odd\r\nContent-Length: 0\r\n\r\n",
		"status 99":                 "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(t, func(p *peer) {
				p.request()
				io.WriteString(p.TCPConn, answer)
			})
			u := newUpstream(t, Config{URL: app.url()})
			expectNone(t, u.Forward(t.Context(), attempt(nil, "{}")), delivery.Unknown, delivery.Incomplete)
			if n := len(app.seen()); n != 1 {
				t.Errorf("the request arrived %d times", n)
			}
		})
	}
}

func TestABodyUntilCloseIsNotCompleteOnReset(t *testing.T) {
	app := newApplication(t, func(p *peer) {
		p.request()
		io.WriteString(p.TCPConn, "HTTP/1.0 200 OK\r\n\r\nhalf")
		p.reset()
	})
	u := newUpstream(t, Config{URL: app.url()})
	expectNone(t, u.Forward(t.Context(), attempt(nil, "{}")), delivery.Unknown, delivery.Incomplete)
}

func TestALargeAnswerIsReadAndOmitted(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for name, answer := range map[string]string{
		"length":      "HTTP/1.1 201 Created\r\nLocation: /1\r\nContent-Length: 100000\r\n\r\n" + big,
		"chunked":     "HTTP/1.1 201 Created\r\nLocation: /1\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + big + "\r\n0\r\n\r\n",
		"until close": "HTTP/1.0 201 Created\r\nLocation: /1\r\n\r\n" + big,
	} {
		for _, cut := range []int{0, 1} {
			app := newApplication(t, func(p *peer) {
				p.request()
				io.WriteString(p.TCPConn, answer[:len(answer)-cut])
			})
			u := newUpstream(t, Config{URL: app.url(), MaxResponse: 99_999})
			got := u.Forward(t.Context(), attempt(nil, "{}"))
			if cut > 0 && name != "until close" {
				expectNone(t, got, delivery.Unknown, delivery.Incomplete)
				continue
			}
			if cut == 0 {
				expectAnswer(t, got, 201, "")
				if !got.Response.Omitted || got.Response.Header.Get("Location") != "/1" {
					t.Errorf("%s: omitted %v, header %v", name, got.Response.Omitted, got.Response.Header)
				}
			}
			kept := newUpstream(t, Config{URL: app.url(), MaxResponse: 100_000})
			if got := kept.Forward(t.Context(), attempt(nil, "{}")); got.Response.Omitted || len(got.Response.Body) != len(big)-cut {
				t.Errorf("%s: at the limit %d bytes were kept", name, len(got.Response.Body))
			}
		}
	}
}

// What an attempt may hold of its answer is asked for before it is taken, in all that its memory has; without room the
// answer is read to its end, and only its body is not kept.
func TestAnAnswersBodyIsHeldAsFarAsThereIsRoom(t *testing.T) {
	const free = 16 << 10
	for name, framing := range map[string]func(body string) string{
		"length": func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) },
		"chunked": func(body string) string {
			return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		},
	} {
		for _, size := range []int{1, free - 1, free, free + 1, 100_000, 1 << 20} {
			app := newApplication(t, answering("HTTP/1.1 200 OK\r\n"+framing(strings.Repeat("x", size))))
			u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
			a := attempt(nil, "{}")
			held := int64(0)
			a.Hold = func(n int64) bool { held += n; return true }
			got := u.Forward(t.Context(), a)
			if body := got.Response.Body; len(body) != size || got.Response.Omitted || int64(cap(body)) > free+held {
				t.Errorf("%s: %d bytes in %d, omitted %t, room was asked for %d", name, len(body), cap(body), got.Response.Omitted, held)
			}
			if size < free && held > 0 || held > 2*int64(size) {
				t.Errorf("%s: room was asked for %d bytes for %d", name, held, size)
			}
			left := held - 1
			a.Hold = func(n int64) bool { left -= n; return left >= 0 }
			got = u.Forward(t.Context(), a)
			if expectAnswer(t, got, 200, map[bool]string{true: strings.Repeat("x", size)}[held == 0]); got.Response.Omitted != (held > 0) {
				t.Errorf("%s: %d bytes without room are omitted: %t", name, size, got.Response.Omitted)
			}
			a.Hold, a.MaxResponse = nil, int64(size)
			if got = u.Forward(t.Context(), a); len(got.Response.Body) != size || got.Response.Omitted {
				t.Errorf("%s: %d bytes at the attempt's limit are omitted", name, size)
			}
			if a.MaxResponse--; a.MaxResponse > 0 {
				if got = u.Forward(t.Context(), a); len(got.Response.Body) != 0 || !got.Response.Omitted {
					t.Errorf("%s: %d bytes over the attempt's limit are kept", name, size)
				}
			}
			if app.connections() != 1 {
				t.Errorf("%s: %d connections, an answer was not read to its end", name, app.connections())
			}
		}
	}
}

// An announcement is believed to nobody's cost, however long a body it announces.
func TestAnAnswerThatAnnouncesWithoutMeasure(t *testing.T) {
	for _, length := range []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 40, 32<<20 + 1, 32 << 20} {
		app := newApplication(t, func(p *peer) {
			p.request()
			fmt.Fprintf(p.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nshort", length)
		})
		u := newUpstream(t, Config{URL: app.url()})
		a := attempt(nil, "{}")
		a.Hold = func(n int64) bool { t.Errorf("%d announced: %d bytes for five", length, n); return true }
		expectNone(t, u.Forward(t.Context(), a), delivery.Unknown, delivery.Incomplete)
	}
}

func TestAnAnswerToHeadHasNoBody(t *testing.T) {
	app := newApplication(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"))
	u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
	a := attempt(nil, "")
	a.Delivery.Method = "HEAD"
	for range 2 {
		got := u.Forward(t.Context(), a)
		expectAnswer(t, got, 200, "")
		if got.Response.Header.Get("Content-Length") != "1234" {
			t.Errorf("header %v", got.Response.Header)
		}
	}
	if app.connections() != 1 {
		t.Errorf("%d connections", app.connections())
	}
}

func TestAnUnreachableApplicationWasNotSentAnything(t *testing.T) {
	u := newUpstream(t, Config{URL: "http://" + testenv.Address(t)})
	expectNone(t, u.Forward(t.Context(), attempt(nil, "{}")), delivery.NotSent, delivery.Unreachable)
	if err := u.Reachable(t.Context()); err == nil {
		t.Error("a closed port is reachable")
	}
}

func TestTimeOverWhileConnectingWasNotSent(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url()})
	for _, timeout := range []time.Duration{1, -1} {
		a := attempt(nil, "{}")
		a.Timeout = timeout
		expectNone(t, u.Forward(t.Context(), a), delivery.NotSent, delivery.TimedOut)
	}
	if n := len(app.seen()); n > 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestASilentApplicationTimesOut(t *testing.T) {
	for name, answer := range map[string]string{
		"silent":           "",
		"half a header":    "HTTP/1.1 200 OK\r\n",
		"half a body":      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbody",
		"body until close": "HTTP/1.1 200 OK\r\n\r\nbody",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each only waits
			over := make(chan struct{})
			app := newApplication(t, func(p *peer) {
				p.request()
				io.WriteString(p.TCPConn, answer)
				<-over
			})
			u := newUpstream(t, Config{URL: app.url()})
			a := attempt(nil, "{}")
			a.Timeout = 5 * time.Second // enough to connect and to send on a busy machine
			started := time.Now()
			got := u.Forward(t.Context(), a)
			close(over)
			expectNone(t, got, delivery.Unknown, delivery.TimedOut)
			if took := time.Since(started); took < a.Timeout || took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestAnApplicationThatNeverReadsALargeBodyTimesOut(t *testing.T) {
	over := make(chan struct{})
	app := newApplication(t, func(*peer) { <-over })
	u := newUpstream(t, Config{URL: app.url()})
	a := attempt(nil, strings.Repeat("x", 16<<20))
	a.Timeout = 5 * time.Second // enough to connect and to begin on a busy machine
	got := u.Forward(t.Context(), a)
	close(over)
	expectNone(t, got, delivery.Unknown, delivery.TimedOut)
}

func TestAnEarlyAnswerToALargeBodyCounts(t *testing.T) {
	const size = 16 << 20
	for name, after := range map[string]func(p *peer, heard <-chan struct{}){
		"reads on":    func(p *peer, _ <-chan struct{}) { io.CopyN(io.Discard, p.Reader, size) }, // so the connection may serve again
		"closes":      func(p *peer, _ <-chan struct{}) { p.CloseWrite(); p.Read(make([]byte, 1)); p.Close() },
		"stays mute":  func(p *peer, heard <-chan struct{}) { <-heard; p.Close() },
		"reads later": func(p *peer, heard <-chan struct{}) { <-heard; io.Copy(io.Discard, p.Reader) },
	} {
		heard := make(chan struct{}, 2) // the answer, by whoever still sends
		app := newApplication(t, func(p *peer) {
			for {
				if _, ok := p.head(); !ok {
					return
				}
				io.WriteString(p.TCPConn, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
				after(p, heard)
			}
		})
		u := newUpstream(t, Config{URL: app.url()})
		body := strings.Repeat("x", size)
		for range 2 {
			got := u.Forward(t.Context(), attempt(nil, body))
			heard <- struct{}{}
			if got.Outcome != delivery.Answered || got.Response.Status != 413 || string(got.Response.Body) != "big" {
				t.Errorf("%s: outcome %d, cause %v, status %d", name, got.Outcome, got.Cause, got.Response.Status)
			}
		}
		if name != "reads on" && app.connections() != 2 {
			t.Errorf("%s: %d connections for two attempts", name, app.connections())
		}
	}
}

func TestALargeBodyArrivesWhole(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url()})
	for _, size := range []int{0, 1, oneWrite - 1000, oneWrite, oneWrite + 1, 5 << 20} {
		body := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		expectAnswer(t, u.Forward(t.Context(), attempt(nil, body)), 200, "done")
		seen := app.seen()
		if got := seen[len(seen)-1]; !bytes.Equal(got.body, []byte(body)) {
			t.Errorf("%d bytes arrived as %d", size, len(got.body))
		}
	}
}

// The trap of net/http: a reused connection that dies makes it send a request with an idempotency key again.
func TestARequestIsNeverSentTwice(t *testing.T) {
	for name, body := range map[string]string{"empty": "", "small": "{}", "large": strings.Repeat("x", 1<<20)} {
		for _, end := range []func(*peer){func(p *peer) { p.Close() }, func(p *peer) { p.reset() }} {
			app := newApplication(t, func(p *peer) {
				p.request()
				io.WriteString(p.TCPConn, okay)
				p.request()
				end(p)
			})
			u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
			expectAnswer(t, u.Forward(t.Context(), attempt(nil, "first")), 200, "done")
			expectNone(t, u.Forward(t.Context(), attempt(nil, body)), delivery.Unknown, delivery.Incomplete)
			if n := len(app.seen()); n != 2 || app.connections() != 1 {
				t.Errorf("%s: %d requests over %d connections, want 2 over 1", name, n, app.connections())
			}
		}
	}
}

func TestAConnectionThatTheApplicationEndedIsNotUsedAgain(t *testing.T) {
	for name, end := range map[string]func(*peer){
		"closed":      func(p *peer) { p.Close() },
		"reset":       func(p *peer) { p.reset() },
		"half closed": func(p *peer) { p.CloseWrite(); p.request() },
		"answered unasked": func(p *peer) {
			io.WriteString(p.TCPConn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			p.request()
		},
	} {
		ended := make(chan struct{}, 10)
		more := make(chan struct{})
		app := newApplication(t, func(p *peer) {
			p.request()
			io.WriteString(p.TCPConn, okay)
			<-more
			go func() { ended <- struct{}{} }()
			end(p)
		})
		u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
		expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
		close(more)
		<-ended
		within(t, name+": the end is seen", func() bool { return !u.pool.idle[0].silent() })
		expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
		if n := len(app.seen()); n != 2 || app.connections() != 2 {
			t.Errorf("%s: %d requests over %d connections, want 2 over 2", name, n, app.connections())
		}
	}
}

// An application that writes a body where HTTP has none, and that late, spoils nobody's attempt but its own.
func TestABodyThatMustNotBeIsNotTakenForTheNextAnswer(t *testing.T) {
	for _, head := range []string{
		"204 No Content\r\nContent-Length: 4\r\n\r\n", "204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		app := newApplication(t, func(p *peer) {
			for answer := range 2 {
				if _, ok := p.request(); !ok {
					return
				}
				text := "HTTP/1.1 " + head
				if answer == 1 {
					text = "4\r\n"
				} else if p.number > 0 {
					text = okay
				}
				if _, err := io.WriteString(p.TCPConn, text); err != nil {
					return
				}
			}
		})
		u := newUpstream(t, Config{URL: app.url()})
		expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 204, "")
		expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
	}
}

// A result without a body leaves the connection as good as any other.
func TestAConnectionOutlivesAnswersWithoutABody(t *testing.T) {
	for _, head := range []string{"204 No Content\r\n\r\n", "204 No Content\r\nContent-Length: 0\r\n\r\n", "304 Not Modified\r\n\r\n"} {
		app := newApplication(t, answering("HTTP/1.1 "+head))
		u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
		for range 3 {
			u.Forward(t.Context(), attempt(nil, "{}"))
		}
		if n := app.connections(); n != 1 {
			t.Errorf("%d connections for three answers with %q", n, head)
		}
	}
}

func TestUnusedConnectionsAreClosed(t *testing.T) {
	closed := make(chan struct{})
	app := newApplication(t, func(p *peer) {
		p.request()
		io.WriteString(p.TCPConn, okay)
		p.Read(make([]byte, 1))
		close(closed)
	})
	u := newUpstream(t, Config{URL: app.url(), IdleTimeout: 30 * time.Millisecond})
	expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
	<-closed
}

func TestCloseDropsConnections(t *testing.T) {
	var ends = make(chan struct{}, 2)
	app := newApplication(t, func(p *peer) {
		answering(okay)(p)
		ends <- struct{}{}
	})
	u := newUpstream(t, Config{URL: app.url(), IdleTimeout: time.Minute})
	expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
	u.Close()
	<-ends
	expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
	<-ends
}

func TestManyAttemptsAtOnceShareFewConnections(t *testing.T) {
	app := newApplication(t, answering(okay))
	u := newUpstream(t, Config{URL: app.url(), IdleConns: 4})
	results := make(chan delivery.Result)
	for worker := range 16 {
		go func() {
			for i := range 50 {
				results <- u.Forward(t.Context(), attempt(nil, fmt.Sprint(worker, i)))
			}
		}()
	}
	for range 16 * 50 {
		expectAnswer(t, <-results, 200, "done")
	}
	bodies := map[string]int{}
	for _, request := range app.seen() {
		bodies[string(request.body)]++
	}
	if len(bodies) != 16*50 || len(app.seen()) != 16*50 {
		t.Errorf("%d different bodies in %d requests", len(bodies), len(app.seen()))
	}
	if len(u.pool.idle) > 4 {
		t.Errorf("%d unused connections are kept", len(u.pool.idle))
	}
}

func TestAHardShutdownBreaksAnAttemptOff(t *testing.T) {
	arrived, over := make(chan struct{}), make(chan struct{})
	app := newApplication(t, func(p *peer) {
		p.request()
		close(arrived)
		<-over
	})
	u := newUpstream(t, Config{URL: app.url()})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	expectNone(t, u.Forward(ctx, attempt(nil, "{}")), delivery.Unknown, delivery.Incomplete)
	close(over)
	expectNone(t, u.Forward(ctx, attempt(nil, "{}")), delivery.NotSent, delivery.Unreachable)
}

func TestLocalhostIsBothFamilies(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			app := newApplicationAt(t, address, answering(okay))
			_, port, _ := net.SplitHostPort(app.address())
			u := newUpstream(t, Config{URL: "http://localhost:" + port})
			if err := u.Reachable(t.Context()); err != nil {
				t.Error(err)
			}
			expectAnswer(t, u.Forward(t.Context(), attempt(nil, "{}")), 200, "done")
		})
	}
}

func TestTheURLIsChecked(t *testing.T) {
	for url, word := range map[string]string{
		"": "http://", "127.0.0.1:8080": "URL", "https://app": "http://", "http://": "host", "http://app/path": "port", "http://app?q": "port",
		"http://app#f": "port", "http://u:secret@app": "user", "http://app:0": "65535", "http://app:70000": "65535", "ftp://app": "http://", "http://app:x": "URL",
	} {
		_, err := New(Config{URL: url})
		if err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "upstream") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{"http://app", "http://app/", "http://127.0.0.1:8080", "http://[::1]:80/", "http://localhost:1"} {
		if _, err := New(Config{URL: url}); err != nil {
			t.Error(err)
		}
	}
}

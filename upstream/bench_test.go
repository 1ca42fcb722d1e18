package upstream

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil" //nolint:depguard // the yardstick
	"net/url"
	"strings"
	"sync"
	"testing"
)

// newBenchApplication answers as cheaply as it can, so that the client is what is measured.
func newBenchApplication(b *testing.B) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n\r\nhello world")
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buffer := make([]byte, 0, 4096)
				for {
					n, err := c.Read(buffer[len(buffer):cap(buffer)])
					if err != nil {
						return
					}
					buffer = buffer[:len(buffer)+n]
					if end := bytes.Index(buffer, []byte("\r\n\r\n")); end >= 0 && len(buffer) >= end+4+1024 {
						buffer = buffer[:0]
						c.Write(answer)
					}
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

func benchAttempt() Attempt {
	return attempt(http.Header{
		"Content-Type": {"application/json"}, "X-Signature": {strings.Repeat("a", 64)}, "X-Timestamp": {"1700000000"},
		"User-Agent": {"sender/1.0"}, "Accept": {"*/*"}, "X-Forwarded-Proto": {"https"},
	}, strings.Repeat("x", 1024))
}

func BenchmarkForward(b *testing.B) {
	u, err := New(Config{URL: newBenchApplication(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(u.Close)
	b.ReportAllocs()
	b.RunParallel(func(loop *testing.PB) {
		a := benchAttempt()
		for loop.Next() {
			if got := u.Forward(b.Context(), a); got.Response.Status != 200 {
				b.Errorf("%+v", got)
			}
		}
	})
}

// BenchmarkTransport is the same exchange through net/http, for comparison.
func BenchmarkTransport(b *testing.B) {
	url := newBenchApplication(b)
	client := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	b.Cleanup(client.CloseIdleConnections)
	b.ReportAllocs()
	b.RunParallel(func(loop *testing.PB) {
		a := benchAttempt()
		for loop.Next() {
			request, _ := http.NewRequestWithContext(b.Context(), "POST", url+a.Delivery.Target, bytes.NewReader(a.Delivery.Body))
			for name, values := range a.Delivery.Header {
				request.Header[name] = values
			}
			response, err := client.RoundTrip(request)
			if err != nil {
				b.Error(err)
				continue
			}
			io.ReadAll(response.Body)
			response.Body.Close()
		}
	})
}

// newPlainProxy is httputil.ReverseProxy as most people use it, with a buffer pool and enough connections.
func newPlainProxy(target string) http.Handler {
	to, _ := url.Parse(target)
	return &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(to); r.SetXForwarded() },
		Transport:  &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		BufferPool: new(bufferPool),
	}
}

type bufferPool struct{ sync.Pool }

func (p *bufferPool) Get() []byte {
	if b, ok := p.Pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 32<<10)
}

func (p *bufferPool) Put(b []byte) { p.Pool.Put(&b) }

func BenchmarkPassthrough(b *testing.B) {
	app := newBenchApplication(b)
	p, err := NewPassthrough(Config{URL: app})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	benchmarkProxy(b, p)
}

// BenchmarkReverseProxy is the same exchange through net/http/httputil, for comparison.
func BenchmarkReverseProxy(b *testing.B) { benchmarkProxy(b, newPlainProxy(newBenchApplication(b))) }

func benchmarkProxy(b *testing.B, handler http.Handler) {
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	request := []byte("POST /some/path?q=1 HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nAccept: */*\r\nUser-Agent: sender/1.0\r\nContent-Length: 1024\r\n\r\n" +
		strings.Repeat("x", 1024))
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(loop *testing.PB) {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		buffer := make([]byte, 4096)
		for loop.Next() {
			if _, err := c.Write(request); err != nil {
				b.Error(err)
				return
			}
			for n := 0; !bytes.HasSuffix(buffer[:n], []byte("hello world")); {
				more, err := c.Read(buffer[n:])
				if err != nil {
					b.Error(err)
					return
				}
				n += more
			}
		}
	})
}

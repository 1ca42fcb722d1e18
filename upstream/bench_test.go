package upstream

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
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

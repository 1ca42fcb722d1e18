package upstream

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func newBenchApplication(b *testing.B) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Write([]byte("hello world"))
	}))
	b.Cleanup(server.Close)
	return server.URL
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

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// beside is a sidecar as it is deployed, with a guarded route, before an application to which everything else passes.
func beside(t *testing.T, address string) *sidecar {
	t.Helper()
	return newSidecar(t, integration(t), map[string]string{
		"DATABASE_URL": testenv.Postgres(t), "SIDECAR_UPSTREAM": "http://" + address, "SIDECAR_GUARD": "/hooks",
	}).start(t)
}

// raw sends bytes over a connection of their own and reads one answer.
func raw(t *testing.T, address, method, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return fmt.Sprint(answer.StatusCode, " ", answer.ContentLength, " ", string(body))
}

// The whole process, compared with a direct connection: what the application sees, and what is answered. The details are
// in the tests of package upstream.
func TestWhatPassesIsUntouched(t *testing.T) {
	app := newRawApplication(t)
	app.status.Store(200)
	s := beside(t, app.address)
	fields := "X-Many: 1\r\nX-Many: \r\nX-Many: 2\r\nMy_Header: kept\r\nCookie: a=1\r\nCookie: b=2\r\nAccept-Encoding: gzip\r\nTraceparent: 00-x\r\n" +
		"Idempotency-Key: the sender's\r\nX-Signature: sha256=00\r\nX-Forwarded-Proto: https\r\nX-Latin: caf\xe9\r\n"
	for _, line := range []string{
		"OPTIONS *", "OPTIONS /", "GET /", "GET /a//b/../c/./%2F%2f;p?q=a;b&%zz&&", "GET //x?", "GET /caf\xe9",
		"HEAD /h", "PROPFIND /dav", "get /lower", "DELETE /d", "GET /hook", "GET /api/hooks/orders",
	} {
		method, _, _ := strings.Cut(line, " ")
		requests := []string{line + " HTTP/1.1\r\nHost: shop.test\r\n" + fields + "Connection: close\r\n\r\n"}
		if method == "PROPFIND" || method == "DELETE" {
			requests = append(requests, line+" HTTP/1.1\r\nHost: shop.test\r\n"+fields+"Connection: close\r\nContent-Length: 5\r\n\r\n\x00\xff\r\n!")
		}
		for _, request := range requests {
			before, _ := app.requests()
			direct, through := raw(t, app.address, method, request), raw(t, s.public, method, request)
			seen, _ := app.requests()
			if direct != through || len(seen) != len(before)+2 {
				t.Errorf("%.60q: answered %q, directly %q; %d requests arrived", request, through, direct, len(seen)-len(before))
				continue
			}
			want, got := folded(seen[len(seen)-2]), folded(seen[len(seen)-1])
			if !slices.Equal(got, want) {
				t.Errorf("%.60q arrived as\n%q, directly as\n%q", request, got, want)
			}
		}
	}
}

// folded is a request with its fields' names in one case, without what is added by contract and what is the connection's.
func folded(lines []string) []string {
	var out []string
	for _, line := range lines {
		if name, value, field := strings.Cut(line, ": "); field {
			line = strings.ToLower(name) + ": " + value
		}
		if line != "x-forwarded-for: 127.0.0.1" && line != "connection: close" {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// flowing is an application over HTTP/1 and HTTP/2 that answers in all the ways that a proxy may spoil.
func flowing(t *testing.T, events <-chan string, gone chan<- struct{}) string {
	t.Helper()
	mux := http.NewServeMux()
	flush := func(w http.ResponseWriter) { http.NewResponseController(w).Flush() }
	mux.HandleFunc("/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w)
		for event := range events {
			io.WriteString(w, event)
			flush(w)
		}
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		piece := make([]byte, 1<<20)
		for range 1 << 10 {
			w.Write(piece)
		}
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "abc")
	})
	mux.HandleFunc("/refuse", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	mux.HandleFunc("/call", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		flush(w)
		for lines := bufio.NewReader(r.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			fmt.Fprintf(w, "%s %s", r.Proto, line)
			flush(w)
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	mux.HandleFunc("/chat", func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\n\r\n", r.Header.Get("Upgrade"))
		io.Copy(conn, buffered)
	})
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) {
		gone <- struct{}{} // not yet
		<-r.Context().Done()
		gone <- struct{}{}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

// What flows through the whole process flows at once, whole, and in little memory.
func TestWhatPassesFlows(t *testing.T) {
	events, gone := make(chan string), make(chan struct{}, 1)
	s := beside(t, flowing(t, events, gone))
	base := "http://" + s.public
	get := func(ctx context.Context, path string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := senders.Do(request)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	t.Run("events", func(t *testing.T) {
		lines := bufio.NewReader(get(t.Context(), "/events").Body)
		var took []time.Duration
		for i := range 20 {
			event, began := fmt.Sprintf("data: %d\n", i), time.Now()
			events <- event
			if got, err := lines.ReadString('\n'); got != event || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			took = append(took, time.Since(began))
		}
		close(events)
		if slices.Sort(took); took[len(took)/2] > 100*time.Millisecond { // some may meet a busy machine, and who buffers is always late
			t.Errorf("half of the events took %s and more", took[len(took)/2])
		}
	})
	t.Run("a gigabyte", func(t *testing.T) {
		before := resident(t, s)
		body, most, size := get(t.Context(), "/large").Body, 0, 0
		buffer := make([]byte, 1<<20)
		for turn := 0; ; turn++ {
			n, err := body.Read(buffer)
			if size += n; turn%500 == 0 {
				most = max(most, resident(t, s))
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if size != 1<<30 || most > before+16<<20 {
			t.Errorf("%d bytes; the process took %d MiB, before %d", size, most>>20, before>>20)
		}
	})
	t.Run("interim answers and trailers", func(t *testing.T) {
		hints := make(chan string, 1)
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(status int, header textproto.MIMEHeader) error {
			hints <- fmt.Sprint(status, header.Get("Link"))
			return nil
		}})
		answer := get(ctx, "/hints")
		body, err := io.ReadAll(answer.Body)
		if got := <-hints; got != "103</a>" || string(body) != "body" || answer.Trailer.Get("X-Sum") != "abc" || err != nil {
			t.Errorf("hints %q, body %q, trailer %v, %v", got, body, answer.Trailer, err)
		}
	})
	t.Run("expect", func(t *testing.T) {
		got := ""
		for try := 0; try < 3 && !strings.HasPrefix(got, "403 "); try++ { // an application that a busy machine holds up for a second is not waited for
			got = raw(t, s.public, "POST", "POST /refuse HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
		}
		if !strings.HasPrefix(got, "403 ") {
			t.Errorf("refused: %s", got)
		}
		conn, reader := dialed(t, s.public, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
		if line, err := reader.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		reader.ReadString('\n')
		io.WriteString(conn, "body")
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(answer.Body); string(body) != "body" {
			t.Errorf("body %q", body)
		}
	})
	t.Run("websocket", func(t *testing.T) {
		conn, reader := dialed(t, s.public, "GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		if answer, err := http.ReadResponse(reader, nil); err != nil || answer.StatusCode != 101 || answer.Header.Get("Upgrade") != "websocket" {
			t.Fatalf("%v, %v", answer, err)
		}
		for _, frame := range []string{"\x81\x05hello", "GET /hooks/orders HTTP/1.1\r\nTransfer-Encoding: x\r\nContent-Length: 1\r\n\r\n"} {
			io.WriteString(conn, frame)
			got := make([]byte, len(frame))
			if _, err := io.ReadFull(reader, got); err != nil || string(got) != frame {
				t.Errorf("%q, %v", got, err)
			}
		}
	})
	t.Run("gRPC", func(t *testing.T) {
		client := &http.Transport{Protocols: new(http.Protocols)}
		client.Protocols.SetUnencryptedHTTP2(true)
		defer client.CloseIdleConnections()
		body, writer := io.Pipe()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/call", body)
		answer, err := client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		lines := bufio.NewReader(answer.Body)
		for i := range 5 {
			fmt.Fprintf(writer, "%d\n", i)
			if got, err := lines.ReadString('\n'); got != fmt.Sprintf("HTTP/2.0 %d\n", i) {
				t.Fatalf("%q, %v", got, err)
			}
		}
		writer.Close()
		if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil || answer.Trailer.Get("Grpc-Status") != "0" {
			t.Errorf("%q, %v, trailer %v", rest, err, answer.Trailer)
		}
	})
	t.Run("a sender that leaves", func(t *testing.T) {
		conn, _ := dialed(t, s.public, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
		<-gone
		conn.Close()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Error("the application still works for it")
		}
	})
}

func dialed(t *testing.T, address, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

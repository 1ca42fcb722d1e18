package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/proxy"
)

// What ends a request that should not have is told, without what the request said, and its sender gets no answer.
func TestAFaultOfOursIsToldAndBreaksTheRequestOff(t *testing.T) {
	for name, fault := range map[string]struct {
		thrown func()
		told   string
	}{
		"of the runtime":     {func() { _ = strings.Repeat("secret", 2)[len(os.Args)+100:] }, "slice bounds out of range"},
		"a text":             {func() { panic("secret") }, `"fault":"string"`},
		"an error":           {func() { panic(errors.New("secret")) }, `"fault":"*errors.errorString"`},
		"nothing":            {func() { panic(nil) }, "panic called with nil"}, //nolint:govet // it may be thrown all the same
		"the thread's end":   {runtime.Goexit, ""},
		"with a key at hand": {func() { _ = withKey([32]byte{0xde, 0xad, 0xbe, 0xef}, len(os.Args)+100) }, "index out of range"},
		"a sender's exit":    {func() { panic(http.ErrAbortHandler) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var written bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&written, nil))
			server := newPublicServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				fault.thrown()
			}), log)
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(listener) }()
			response, err := http.Post("http://"+listener.Addr().String(), "text/plain", strings.NewReader("secret"))
			if err == nil {
				response.Body.Close()
				t.Errorf("answered with %d", response.StatusCode)
			}
			server.Shutdown(t.Context())
			<-ended
			switch told := written.String(); {
			case fault.told == "" && told != "":
				t.Errorf("told: %s", told)
			case !strings.Contains(told, fault.told) || strings.Contains(told, "secret") || strings.Contains(told, "0xde"):
				t.Errorf("told: %s", told)
			case told != "" && !strings.Contains(told, "broken_test.go"):
				t.Errorf("the stack does not tell where: %s", told)
			}
		})
	}
}

//go:noinline
func withKey(key [32]byte, at int) byte { return key[at] }

// lines takes what is written, for whoever waits for it.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// What is put around a handler takes nothing away from it: it flushes, sets deadlines and takes connections over.
func TestAHandlerHasAllThatItsConnectionCan(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	written, held := make(lines, 10), make(chan struct{})
	server := newPublicServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := errors.Join(control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})); err != nil {
			t.Errorf("%s: %v", r.Proto, err)
		}
		if r.URL.Path != "/taken" {
			io.WriteString(w, "begun")
			if err := control.Flush(); err != nil {
				t.Errorf("%s: %v", r.Proto, err)
			}
			<-held
			return
		}
		conn, _, err := control.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, ok := conn.(interface{ Unfollow() }); !ok {
			t.Errorf("a %T was taken over", conn)
		}
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\ntaken")
		panic(errors.New("afterwards"))
	}), slog.New(slog.NewJSONHandler(written, nil)))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(proxy.StrictListener(listener)) }()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		client := &http.Transport{Protocols: new(http.Protocols)}
		client.Protocols.SetHTTP1(version == "HTTP/1.1")
		client.Protocols.SetUnencryptedHTTP2(version != "HTTP/1.1")
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String(), strings.NewReader("x"))
		response, err := client.RoundTrip(request) // arrives before the handler ends
		if err != nil || response.Proto != version {
			t.Fatalf("%v, %v", response, err)
		}
		held <- struct{}{}
		if body, err := io.ReadAll(response.Body); string(body) != "begun" || err != nil {
			t.Errorf("%s: %q, %v", version, body, err)
		}
		response.Body.Close()
		client.CloseIdleConnections()
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /taken HTTP/1.1\r\nHost: x\r\n\r\n")
	if all, err := io.ReadAll(conn); !strings.HasSuffix(string(all), "taken") || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	server.Shutdown(t.Context())
	<-ended
	if told := <-written; !strings.Contains(told, `"fault":"*errors.errorString"`) || strings.Contains(told, "afterwards") {
		t.Errorf("told: %s", told)
	}
}

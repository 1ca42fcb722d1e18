package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// chat switches protocols and gives back what it gets, until that ends.
func chat(w http.ResponseWriter, q *http.Request) {
	if q.Header.Get("Upgrade") == "" {
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	_, _ = io.Copy(conn, buffered)
}

// switched is a connection through the sidecar that has switched protocols.
func (p *process) switched() (*net.TCPConn, *bufio.Reader) {
	p.r.t.Helper()
	conn, err := net.Dial("tcp", p.env["SIDECAR_LISTEN"])
	if err != nil {
		p.r.t.Fatal(err)
	}
	p.r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	reader := bufio.NewReader(conn)
	if answer, err := http.ReadResponse(reader, nil); err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		p.r.t.Fatalf("%v, %v", answer, err)
	}
	return conn.(*net.TCPConn), reader
}

// unheard waits until the sidecar takes no new connection.
func (p *process) unheard() {
	p.r.t.Helper()
	p.eventually("the listener to close", func() error {
		conn, err := net.Dial("tcp", p.env["SIDECAR_LISTEN"])
		if err == nil {
			_ = conn.Close()
			return fmt.Errorf("still listening")
		}
		return nil
	})
}

const cutOff = "not everything in flight was finished in time"

func TestSIGTERMWaitsForAConnectionThatHasSwitched(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_SHUTDOWN_TIMEOUT"] = "1h"
	r.answer(chat)
	p := r.run()
	conn, reader := p.switched()
	p.signal(syscall.SIGTERM)
	p.unheard()
	for i := range 1000 {
		if _, err := fmt.Fprintf(conn, "frame %d\n", i); err != nil {
			t.Fatal(err)
		}
		if got, err := reader.ReadString('\n'); got != fmt.Sprintf("frame %d\n", i) || err != nil {
			t.Fatalf("frame %d came back as %q, %v", i, got, err)
		}
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(reader); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v at the end", rest, err)
	}
	if status := p.end(); status != 0 || strings.Contains(p.log.String(), cutOff) {
		t.Errorf("exit %d: %s", status, p.log)
	}
}

func TestAConnectionThatHasSwitchedIsCutAtTheTimeout(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_SHUTDOWN_TIMEOUT"] = "300ms"
	r.answer(chat)
	p := r.run()
	_, reader := p.switched()
	p.signal(syscall.SIGTERM)
	if _, err := reader.ReadByte(); err == nil {
		t.Error("there was nothing to say")
	}
	if status := p.end(); status != 0 || !strings.Contains(p.log.String(), cutOff) {
		t.Errorf("exit %d: %s", status, p.log)
	}
}

func TestASecondSignalWaitsForNoConnectionThatHasSwitched(t *testing.T) {
	r := newRig(t)
	r.env["SIDECAR_SHUTDOWN_TIMEOUT"] = "1h"
	r.answer(chat)
	p := r.run()
	p.switched()
	p.signal(syscall.SIGTERM)
	p.unheard()
	p.signal(syscall.SIGTERM)
	if status := p.end(); status != 1 {
		t.Errorf("exit %d: %s", status, p.log)
	}
}

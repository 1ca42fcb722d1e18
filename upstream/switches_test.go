package upstream

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// switching is an application that switches protocols and then gives back what it gets, until that ends.
func switching(p *peer) {
	p.head()
	io.WriteString(p.TCPConn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
	io.Copy(p.TCPConn, p.Reader)
}

// switchedOver is a connection that has switched protocols.
func switchedOver(t *testing.T, front string) *client {
	t.Helper()
	c := connect(t, front)
	c.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
	if response := c.response("GET"); response.StatusCode != 101 {
		t.Fatalf("status %d", response.StatusCode)
	}
	return c
}

func newSwitching(t *testing.T, serve func(*peer)) (p *Passthrough, front string) {
	t.Helper()
	p, err := NewPassthrough(Config{URL: newApplication(t, serve).url()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, newListener(t, p)
}

func TestDrainWaitsForWhatHasSwitched(t *testing.T) {
	p, front := newSwitching(t, switching)
	for range 2 {
		if err := p.Drain(t.Context()); err != nil {
			t.Fatalf("with nothing open: %v", err)
		}
		one, other := switchedOver(t, front), switchedOver(t, front)
		drained := make(chan error, 2)
		for range cap(drained) {
			go func() { drained <- p.Drain(t.Context()) }()
		}
		for _, c := range []*client{one, other} {
			for range 100 {
				c.send("frame")
				c.expect("frame")
			}
			select {
			case err := <-drained:
				t.Fatalf("with one open: %v", err)
			default:
			}
			c.CloseWrite()
			io.Copy(io.Discard, c.reader)
		}
		for range cap(drained) {
			if err := <-drained; err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWhatHasSwitchedIsCutOffWhenDrainEnds(t *testing.T) {
	enough := errors.New("enough")
	for name, serve := range map[string]func(*peer){
		"silent": switching,
		"talking to a sender that does not read": func(p *peer) {
			p.head()
			io.WriteString(p.TCPConn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			io.Copy(p.TCPConn, strings.NewReader(strings.Repeat("x", 64<<20)))
		},
	} {
		p, front := newSwitching(t, serve)
		c := switchedOver(t, front)
		ctx, end := context.WithCancelCause(t.Context())
		drained := make(chan error)
		go func() { drained <- p.Drain(ctx) }()
		end(enough)
		if err := <-drained; !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
		<-p.switches.empty()
		for _, cut := range []*client{c, switchedOver(t, front)} { // the other one is late
			if n, err := io.Copy(io.Discard, cut.reader); n == 64<<20 || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %d bytes, %v", name, n, err)
			}
			<-p.switches.empty()
		}
	}
}

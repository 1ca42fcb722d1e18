package testenv

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Tap stands between clients and a service on TCP and does to their connections what networks do. All methods are safe
// for concurrent use and act on open and new connections alike.
type Tap struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	change  *sync.Cond
	conns   map[net.Conn]struct{}
	delay   time.Duration
	hold    bool // nothing passes
	refuse  bool
	swallow bool   // answers are lost
	after   []byte // from a request with these bytes on, its connection's answers are lost
	cutOn   []byte
	cut     chan struct{}
	closed  bool
}

// NewTap listens on a free port of 127.0.0.1 and passes everything on to the target (host:port).
func NewTap(t testing.TB, target string) *Tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("a tap: %v", err)
	}
	tap := &Tap{listener: listener, target: target, conns: map[net.Conn]struct{}{}}
	tap.change = sync.NewCond(&tap.mu)
	go tap.accept()
	t.Cleanup(tap.close)
	return tap
}

// Addr is where the tap listens.
func (p *Tap) Addr() string { return p.listener.Addr().String() }

// Through is a URL with the tap's address in place of its host.
func (p *Tap) Through(t testing.TB, address string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatalf("not a URL")
	}
	parsed.Host = p.Addr()
	return parsed.String()
}

// Pass ends every disturbance.
func (p *Tap) Pass() {
	p.set(func() { p.hold, p.swallow, p.refuse, p.delay, p.cutOn, p.after = false, false, false, 0, nil, nil })
}

// Blackhole lets nothing pass in either direction, while connections stay open and new ones are accepted.
func (p *Tap) Blackhole() { p.set(func() { p.hold = true }) }

// SwallowReplies passes requests on and loses the answers.
func (p *Tap) SwallowReplies() { p.set(func() { p.swallow = true }) }

// SwallowRepliesTo loses the answers of a connection from the first request on that holds these bytes. The service acts on
// that request, whatever the client had to ask before it may send it.
func (p *Tap) SwallowRepliesTo(match []byte) { p.set(func() { p.after = match }) }

// Delay holds back every piece of an answer.
func (p *Tap) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// Refuse cuts all connections, and new ones as soon as they are accepted.
func (p *Tap) Refuse() {
	p.set(func() { p.refuse = true })
	p.Cut()
}

// Cut closes all open connections.
func (p *Tap) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
}

// CutBeforeReply cuts a connection, once, when a piece of an answer holds these bytes, which are not delivered. What the
// service did before it answered is done. The channel is closed when it has happened.
func (p *Tap) CutBeforeReply(match []byte) <-chan struct{} {
	cut := make(chan struct{})
	p.set(func() { p.cutOn, p.cut = match, cut })
	return cut
}

func (p *Tap) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.change.Broadcast()
}

func (p *Tap) close() {
	p.listener.Close()
	p.set(func() { p.closed = true })
	p.Cut()
}

func (p *Tap) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *Tap) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.enlist(client, server) {
		return
	}
	defer server.Close()
	defer p.dismiss(client, server)
	ended := make(chan error, 2)
	var line line
	go func() { ended <- p.copy(server, client, &line, false) }()
	go func() { ended <- p.copy(client, server, &line, true) }()
	<-ended
}

func (p *Tap) enlist(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed {
		server.Close()
		return false
	}
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	return true
}

func (p *Tap) dismiss(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

// line is what is known of one connection; the tap's lock guards it.
type line struct {
	swallow bool // its answers are lost
}

var errCut = errors.New("cut by the tap")

func (p *Tap) copy(to io.Writer, from io.Reader, line *line, reply bool) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			deliver, cut := p.judge(buffer[:n], line, reply)
			if cut {
				return errCut
			}
			if deliver {
				if _, err := to.Write(buffer[:n]); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// judge waits as long as nothing may pass and says what becomes of a piece.
func (p *Tap) judge(piece []byte, line *line, reply bool) (deliver, cut bool) {
	p.mu.Lock()
	delay := p.delay
	for p.hold && !p.closed {
		p.change.Wait()
	}
	if reply && p.cutOn != nil && bytes.Contains(piece, p.cutOn) {
		p.cutOn = nil
		close(p.cut)
		p.mu.Unlock()
		return false, true
	}
	if !reply && p.after != nil && bytes.Contains(piece, p.after) {
		line.swallow = true
	}
	deliver = !reply || !p.swallow && (!line.swallow || p.after == nil)
	p.mu.Unlock()
	if reply && delay > 0 {
		time.Sleep(delay)
	}
	return deliver, false
}

package upstream

import (
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// How long a head waits for the first bytes of its body, so that usually one write takes both, and how long a sender
// that expects 100 waits for the application's word, which not every application has.
const (
	headPatience   = time.Millisecond
	expectPatience = time.Second
)

// pump carries a request's head and body to the application while the answer is already awaited.
type pump struct {
	*Passthrough
	w       http.ResponseWriter
	r       *http.Request
	c       *conn
	awaited bool // the sender sends no body before it gets a 100
	chunked bool
	went    chan struct{} // closed: the body may be asked for
	stopped chan struct{} // closed: it need not be any more
	done    chan struct{} // closed: the pump has ended
	once    [2]sync.Once
	written bool         // set before done is closed: the application got all of it
	drained atomic.Bool  // the body has been read to its clean end
	failed  atomic.Bool  // the body broke off
	moved   atomic.Int64 // bytes

	headMu sync.Mutex
	head   []byte // nil once it is written

	speaking sync.Mutex // held while an interim answer is written, and to cancel: then no other one is
	invited  bool       // the sender has got its 100
}

func (x *passage) startPump(c *conn) *pump {
	p := &pump{
		Passthrough: x.Passthrough, w: x.w, r: x.r, c: c, awaited: expects(x.r), chunked: x.r.ContentLength < 0, head: c.scratch,
		went: make(chan struct{}), stopped: make(chan struct{}), done: make(chan struct{}),
	}
	go func() {
		defer close(p.done)
		p.written = p.run()
	}()
	return p
}

// whole tells whether there is nothing left to send. A nil pump has nothing to send.
func (p *pump) whole() bool { return p == nil || p.finished() && p.written }

func (p *pump) finished() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// endsWithin waits until the pump has ended, for at most some time.
func (p *pump) endsWithin(d time.Duration) bool {
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-p.done:
		return true
	case <-patience.C:
		return false
	}
}

// proceed passes the application's 100 on to a sender that waits for it, and has the body read.
func (p *pump) proceed(fields http.Header) {
	if p != nil && p.awaited && p.invite(fields) {
		p.once[0].Do(func() { close(p.went) })
	}
}

// invite sends a 100 unless the sender has one, and tells whether the body may be read, which it may not once that is
// cancelled. net/http would send one by itself at the first read, even while another interim answer is written.
func (p *pump) invite(fields http.Header) bool {
	p.speaking.Lock()
	defer p.speaking.Unlock()
	select {
	case <-p.stopped:
		return false
	default:
	}
	if !p.invited {
		p.invited = true
		writeInterim(p.w, http.StatusContinue, fields)
	}
	return true
}

// cancel spares a sender that still waits the sending of a body that nobody wants. From then on the pump writes nothing to
// the sender and leaves the header of its answer alone.
func (p *pump) cancel() {
	p.speaking.Lock()
	defer p.speaking.Unlock()
	p.once[1].Do(func() { close(p.stopped) })
}

func (p *pump) run() bool {
	if p.awaited {
		if p.flushHead() != nil || !p.awaitProceed() {
			return false
		}
	}
	late := time.AfterFunc(headPatience, func() { _ = p.flushHead() }) // an error shows again at the next write
	defer late.Stop()
	buffer := p.buffers.Get().(*copyBuffer)
	defer p.buffers.Put(buffer)
	for {
		ended, err := p.step(buffer)
		if err != nil {
			return false
		}
		if ended {
			return true
		}
	}
}

// expects tells whether a sender waits for 100, as net/http judges it, which would see to that 100 otherwise.
func expects(r *http.Request) bool {
	return r.ProtoAtLeast(1, 1) && slices.ContainsFunc(strings.FieldsFunc(r.Header.Get("Expect"), betweenTokens), isContinue)
}

func betweenTokens(c rune) bool { return c == ' ' || c == ',' || c == '\t' }

func isContinue(token string) bool { return strings.EqualFold(token, "100-continue") }

// awaitProceed waits until the application wants the body, or seems not to know about such expectations.
func (p *pump) awaitProceed() bool {
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	select {
	case <-p.went:
		return true
	case <-patience.C:
		return p.invite(nil)
	case <-p.r.Context().Done():
		return false
	case <-p.stopped:
		return false
	}
}

func (p *pump) flushHead() error {
	p.headMu.Lock()
	defer p.headMu.Unlock()
	if p.head == nil {
		return nil
	}
	_, err := p.c.Write(p.head)
	p.head = nil
	return err
}

// chunkFrame is the room for a chunk's size line and line end.
const chunkFrame = len("7fff\r\n") + len("\r\n")

// step moves one piece, framed and together with the head where that is still waiting.
func (p *pump) step(buffer *copyBuffer) (ended bool, err error) {
	at := p.begin(buffer)
	frame := 0
	if p.chunked {
		frame = chunkFrame - 2
	}
	n, readErr := p.r.Body.Read(buffer[at+frame : len(buffer)-2])
	if readErr != nil && readErr != io.EOF {
		p.failed.Store(true)
		_ = p.c.Close() // the application must not take what it has for the whole
		return false, readErr
	}
	piece := buffer[:at+frame+n]
	if p.chunked {
		piece = frameChunk(piece, at, n)
	}
	if readErr == io.EOF {
		piece = p.trailer(piece)
		p.drained.Store(true)
	}
	if err := p.write(piece, at); err != nil {
		return false, err
	}
	p.moved.Add(int64(n))
	return readErr == io.EOF, nil
}

// begin copies a head that still waits to the front of the buffer, if it leaves enough room, and returns its length.
func (p *pump) begin(buffer *copyBuffer) int {
	p.headMu.Lock()
	waiting := len(p.head)
	if waiting <= len(buffer)/2 {
		copy(buffer[:], p.head)
		p.headMu.Unlock()
		return waiting
	}
	p.headMu.Unlock()
	_ = p.flushHead()
	return 0
}

// write sends a piece that begins with a head of some length, which may have been sent meanwhile.
func (p *pump) write(piece []byte, head int) error {
	p.headMu.Lock()
	defer p.headMu.Unlock()
	if p.head == nil {
		piece = piece[head:]
	}
	p.head = nil
	if len(piece) == 0 {
		return nil
	}
	_, err := p.c.Write(piece)
	return err
}

// frameChunk fills in the frame of a chunk of size bytes; none is made for nothing, which would be the last one.
func frameChunk(piece []byte, at, size int) []byte {
	if size == 0 {
		return piece[:at]
	}
	const digits = "0123456789abcdef"
	line := piece[at:]
	for i := range 4 {
		line[i] = digits[size>>(12-4*i)&0xf]
	}
	line[4], line[5] = '\r', '\n'
	return append(piece, '\r', '\n')
}

// trailer ends a chunked body with the sender's trailer fields.
func (p *pump) trailer(piece []byte) []byte {
	if !p.chunked {
		return piece
	}
	h := head(append(piece, "0\r\n"...))
	for name, values := range p.r.Trailer {
		if !passable(name) || name == "Content-Length" || name == "Host" {
			continue
		}
		for _, value := range values {
			h = h.field(textproto.CanonicalMIMEHeaderKey(name), value)
		}
	}
	return h.end()
}

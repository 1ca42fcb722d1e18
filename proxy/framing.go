package proxy

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
)

// errFraming ends a connection on which a request leaves open how long it is. net/http would read it in one way and keep
// the connection; a balancer in front may read it in another, and what one of them takes for a body is a request of the
// other's: a way round every check.
var errFraming = errors.New("a request leaves open how long it is")

// maxHead is how much of a header section is held while it is incomplete. A longer one is net/http's to refuse: the
// servers' limit is 1 MiB and what net/http allows above it.
const maxHead = 1<<20 + 64<<10

// StrictListener refuses requests with both Content-Length and Transfer-Encoding, with a length that is no number or
// folded, and with Transfer-Encoding in HTTP/1.0, before net/http reads them. It follows the messages on each HTTP/1.1
// connection and changes none of their bytes. Its connections have a method Unfollow, for whoever takes one over.
func StrictListener(inner net.Listener) net.Listener { return strictListener{inner} }

type strictListener struct{ net.Listener }

func (l strictListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strictConn{Conn: conn}, nil
}

type strictConn struct {
	net.Conn
	framing framing
	refused bool
	instead string // what net/http has still to be given in the place of a refused request
}

// noRequest is given to net/http in the place of what is refused: it is malformed in the middle of any header section, so
// that the answer is 400 and the connection ends. An error would end it without an answer.
const noRequest = "\x00\r\n\r\n\r\n"

func (c *strictConn) Read(p []byte) (int, error) {
	if c.refused {
		return c.refuse(p)
	}
	n, err := c.Conn.Read(p)
	good, ok := c.framing.follow(p[:n])
	if ok {
		return n, err
	}
	c.refused, c.instead = true, noRequest
	if good > 0 {
		return good, nil // the end of the request before, which has its answer yet to come
	}
	return c.refuse(p)
}

func (c *strictConn) refuse(p []byte) (int, error) {
	if c.instead == "" {
		return 0, errFraming
	}
	n := copy(p, c.instead)
	c.instead = c.instead[n:]
	return n, nil
}

type connKey struct{}

// ConnContext is for an http.Server with a StrictListener: its handlers then know whether a request has arrived whole.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// arrived tells that all of an HTTP/1.1 request with a body is here, so that reading it waits for nobody. To be asked before
// it is read: nobody else reads from the connection then, net/http only when a body is at its end.
func arrived(r *http.Request) bool {
	conn, followed := r.Context().Value(connKey{}).(*strictConn)
	return followed && conn.framing.whole()
}

// Unfollow ends the checking, because what comes from now on is another protocol. Nobody may be reading meanwhile.
func (c *strictConn) Unfollow() { c.framing = framing{expect: opaque} }

// CloseWrite lets net/http end a connection without cutting off the answer.
func (c *strictConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// framing follows the requests on one connection: which bytes are header sections, and which are bodies.
type framing struct {
	expect expectation
	begun  bool   // a request has come before
	loose  bool   // a trailer has ended in another way than net/http looks for: it may still wait for the end
	head   []byte // of an incomplete header section or line
	skip   int64  // bytes of a body or chunk still to come
}

type expectation uint8

const (
	inHead      expectation = iota
	inBody                  // skip bytes, then a header section
	inChunkLine             // a chunk's size
	inChunk                 // skip bytes and a line end, then a chunk line
	inTrailer               // lines until an empty one, then a header section
	opaque                  // no longer HTTP/1.1, or malformed: net/http's own business
)

// whole tells that no request is here without its end, as net/http sees it.
func (f *framing) whole() bool { return f.expect == inHead && !f.loose }

// follow takes in the next bytes; false when they complete a header section that leaves open how long its request is. How
// many bytes come before that section is told then.
func (f *framing) follow(p []byte) (good int, ok bool) {
	for rest := p; len(rest) > 0; {
		switch f.expect {
		case opaque:
			return len(p), true
		case inBody, inChunk:
			rest = f.skipped(rest)
		case inHead:
			good = len(p) - len(rest)
			if rest, ok = f.headed(rest); !ok {
				return good, false
			}
		default:
			rest = f.lined(rest)
		}
	}
	return len(p), true
}

func (f *framing) skipped(p []byte) []byte {
	n := min(int64(len(p)), f.skip)
	if f.skip -= n; f.skip == 0 {
		if f.expect == inChunk {
			f.expect = inChunkLine
		} else {
			f.expect = inHead
		}
	}
	return p[n:]
}

// headed collects a header section and learns from it what follows.
func (f *framing) headed(p []byte) (rest []byte, ok bool) {
	head, rest, complete := f.collect(p, headEnd)
	if !complete {
		return nil, true
	}
	if len(bytes.TrimLeft(head, "\r\n")) == 0 {
		f.head = f.head[:0]
		return rest, true // empty lines before a request
	}
	first := !f.begun
	f.begun = true
	found := extentOf(bytes.TrimLeft(head, "\r\n"))
	f.head = f.head[:0]
	switch {
	case found.doubtful, found.http2 && !first:
		return nil, false
	case found.http2:
		f.expect = opaque
	case found.chunked:
		f.expect = inChunkLine
	case found.length > 0:
		f.expect, f.skip = inBody, found.length
	}
	return rest, true
}

// endReach is how many bytes before the last one an end may begin.
const endReach = len("\n\r")

// collect adds p to what is held until find sees an end in it.
func (f *framing) collect(p []byte, find func([]byte) int) (whole, rest []byte, complete bool) {
	if len(f.head) == 0 {
		if end := find(p); end >= 0 {
			return p[:end], p[end:], true
		}
	}
	held := len(f.head)
	f.head = append(f.head, p...)
	from := max(held-endReach, 0) // a sender of single bytes must not make us look at all of them each time
	if end := find(f.head[from:]); end >= 0 {
		end += from
		return f.head[:end], p[end-held:], true
	}
	if len(f.head) > maxHead {
		f.expect, f.head = opaque, nil
	}
	return nil, nil, false
}

// lined takes a chunk's size line or a trailer line.
func (f *framing) lined(p []byte) []byte {
	line, rest, complete := f.collect(p, lineEnd)
	if !complete {
		return nil
	}
	text := bytes.TrimRight(line, "\r\n")
	if f.expect == inTrailer {
		if !bytes.HasSuffix(line, []byte("\r\n")) || string(line) == "\r\r\n" {
			f.loose = true // for good: by the time that somebody asks, the next request may be here as well
		}
		if len(text) == 0 {
			f.expect = inHead
		}
	} else {
		f.chunk(text)
	}
	f.head = f.head[:0]
	return rest
}

// chunk learns a chunk's size. Its data is followed by a line end, which is skipped along with it.
func (f *framing) chunk(line []byte) {
	if len(line) == 0 {
		return // the line end of a chunk's data
	}
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseInt(string(bytes.TrimSpace(digits)), 16, 62)
	switch {
	case err != nil || size < 0:
		f.expect = opaque
	case size == 0:
		f.expect = inTrailer
	default:
		f.expect, f.skip = inChunk, size
	}
}

// headEnd is the position behind the empty line that ends a header section; -1 when there is none. Like net/http it
// takes a bare line feed for a line end.
func headEnd(p []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(p[at:], '\n')
		if next < 0 {
			return -1
		}
		at += next + 1
		switch {
		case at < len(p) && p[at] == '\n':
			return at + 1
		case at+1 < len(p) && p[at] == '\r' && p[at+1] == '\n':
			return at + 2
		}
	}
}

// lineEnd is the position behind the first line end; -1 when there is none.
func lineEnd(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		return -1
	}
	return end + 1
}

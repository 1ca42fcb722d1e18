package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// conn is one connection to the application, used by one exchange at a time.
type conn struct {
	*net.TCPConn
	reader    *bufio.Reader
	allowance int64         // bytes that may still be read; bounds a header section
	received  bool          // a byte has come since the last request was begun
	request   http.Request  // tells ReadResponse the method
	scratch   []byte        // for the next request's head
	probe     silenceProbe  // finds out whether an unused connection is still usable
	reused    bool          // it has served an earlier request
	idleFor   time.Duration // how long it may wait for the next request
	idleSince time.Time
}

var errHeaderTooLarge = errors.New("header section too large")

func newConn(tcp *net.TCPConn) *conn {
	c := &conn{TCPConn: tcp, allowance: math.MaxInt64}
	c.reader = bufio.NewReader(inbound{c})
	c.probe.watch(tcp)
	return c
}

// inbound is what conn's reader reads from.
type inbound struct{ *conn }

// Read keeps to the allowance.
func (in inbound) Read(p []byte) (int, error) {
	c := in.conn
	if c.allowance <= 0 {
		return 0, errHeaderTooLarge
	}
	if int64(len(p)) > c.allowance {
		p = p[:c.allowance]
	}
	n, err := c.TCPConn.Read(p)
	if n > 0 {
		c.received = true
		c.allowance -= int64(n)
	}
	return n, err
}

// readHead reads one header section, interim or final. Errors wrap ErrIncomplete. The body is unread.
func (c *conn) readHead(method string) (*http.Response, error) {
	c.request.Method = method
	c.allowance = maxHeaderBytes
	response, err := http.ReadResponse(c.reader, &c.request)
	c.allowance = math.MaxInt64
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	if response.StatusCode < 100 || response.StatusCode > 999 {
		return nil, fmt.Errorf("%w: status %d", ErrIncomplete, response.StatusCode)
	}
	return response, nil
}

// closeOn closes the connection when ctx ends, which lets whoever reads or writes it go on. stop tells whether that did
// not happen, and must be called before the connection is used for anything else.
func (c *conn) closeOn(ctx context.Context) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { _ = c.Close() })
}

// keepable tells whether the connection can serve another request after response, whose body was read to its end, and
// for how long. The application's own word on its patience counts.
func (c *conn) keepable(response *http.Response, idle time.Duration) bool {
	if response.Close || c.reader.Buffered() > 0 || spills(response) {
		return false
	}
	for parameter := range strings.SplitSeq(response.Header.Get("Keep-Alive"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
			idle = min(idle, time.Duration(seconds)*time.Second-keepAliveMargin)
		}
	}
	c.idleFor = idle
	return idle > 0
}

// spills tells that a 204, which cannot have a body, announces one. An application that writes it all the same would have
// its bytes taken for the answer to the next request. (A 304 may say how long the body would be.)
func spills(response *http.Response) bool {
	length := response.Header.Get("Content-Length")
	return response.StatusCode == http.StatusNoContent &&
		(length != "" && length != "0" || len(response.TransferEncoding) > 0)
}

// keepAliveMargin is how much earlier than the application we give up an unused connection.
const keepAliveMargin = 500 * time.Millisecond

// silent tells without blocking whether a connection that waits for its next request is open and has nothing to say.
func (c *conn) silent() bool { return c.reader.Buffered() == 0 && c.probe.silent() }

// silenceProbe looks at a socket without waiting for it.
type silenceProbe struct {
	raw   syscall.RawConn
	look  func(fd uintptr) bool
	quiet bool
}

func (p *silenceProbe) watch(tcp *net.TCPConn) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	p.raw = raw
	p.look = func(fd uintptr) bool {
		p.quiet = wouldBlock(fd)
		return true
	}
}

func (p *silenceProbe) silent() bool {
	p.quiet = false
	return p.raw != nil && p.raw.Read(p.look) == nil && p.quiet
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// run is what all connections of one measurement share.
type run struct {
	settings settings
	next     atomic.Uint64 // the number of the next delivery
	began    time.Time
	from, to time.Time // the window in which answers count
}

// tally is what one connection saw in the window.
type tally struct {
	latencies []time.Duration
	failed    int
	example   string // the first failure
}

// client is one persistent connection.
type client struct {
	run    *run
	writer *writer
	conn   net.Conn
	reader reader
	want   []byte
	tally  tally
}

func (r *run) connect(ctx context.Context) (*client, error) {
	s := r.settings
	writer, err := newWriter(s)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	c := &client{run: r, writer: writer, conn: conn, reader: reader{from: conn, buffer: make([]byte, 8<<10)}}
	if s.want != "" {
		c.want = []byte("\r\nSidecar-Receipt: " + s.want + "\r\n")
	}
	return c, nil
}

// work delivers until the window is over or every event was delivered. What is in flight then is finished.
func (c *client) work() error {
	for {
		n, at, more := c.run.take()
		if !more {
			return nil
		}
		time.Sleep(time.Until(at)) // no longer than it takes all connections to have one delivery each
		delivery := c.writer.write(n)
		start := time.Now()
		if !at.IsZero() {
			start = at // what waits for a free connection waits
		}
		if err := c.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		status, head, err := c.exchange(delivery)
		if err != nil {
			return fmt.Errorf("delivery %d: %w", n, err)
		}
		if end := time.Now(); end.After(c.run.from) && end.Before(c.run.to) {
			c.count(end.Sub(start), status, head)
		}
	}
}

// take is the number of the next event, by the mode of the run, and when it is to be delivered: zero, now. Every number
// that is taken is delivered.
func (r *run) take() (n uint64, at time.Time, more bool) {
	s := &r.settings
	if !s.only && !time.Now().Before(r.to) {
		return 0, at, false
	}
	k := r.next.Add(1) - 1
	if s.rate > 0 {
		at = r.began.Add(time.Duration(float64(k) / float64(s.rate) * float64(time.Second)))
	}
	switch {
	case s.only && k >= s.count:
		return 0, at, false
	case s.count == 0:
		return s.first + k, at, true
	case s.shuffle:
		return s.first + mix(k)%s.count, at, true
	default:
		return s.first + (s.skip+k)%s.count, at, true
	}
}

func (c *client) exchange(delivery []byte) (int, []byte, error) {
	if _, err := c.conn.Write(delivery); err != nil {
		return 0, nil, err
	}
	return c.reader.read()
}

func (c *client) count(latency time.Duration, status int, head []byte) {
	c.tally.latencies = append(c.tally.latencies, latency)
	if status == 200 && (c.want == nil || bytes.Contains(head, c.want)) {
		return
	}
	c.tally.failed++
	if c.tally.example == "" {
		c.tally.example = fmt.Sprintf("status %d, want 200 with Sidecar-Receipt %q", status, c.run.settings.want)
	}
}

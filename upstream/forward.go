package upstream

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Forward makes one attempt: at most one request on the wire. Everything is over when the attempt's Timeout is, from
// now; a Timeout of 0 means 20 s. An Answered response was read to its clean end, has no hop-by-hop fields and, except
// to HEAD, no Content-Length; a body larger than MaxResponse, or for which Hold has no room, is read and omitted. ctx is
// for a hard shutdown only: it breaks the attempt off, whatever the application may have done with it.
func (u *Upstream) Forward(ctx context.Context, a Attempt) delivery.Result {
	now := time.Now()
	if a.Timeout == 0 {
		a.Timeout = defaultTimeout
	}
	t := try{Upstream: u, attempt: &a, ctx: ctx, deadline: now.Add(a.Timeout)}
	if a.Timeout < 0 {
		return delivery.Result{Outcome: delivery.NotSent, Cause: delivery.TimedOut}
	}
	for c := u.pool.take(now, t.deadline); c != nil; c = u.pool.take(now, t.deadline) {
		if result, sent := t.over(c); sent {
			return result
		}
	}
	tcp, err := u.dialer.dial(ctx, t.deadline)
	if err != nil {
		return delivery.Result{Outcome: delivery.NotSent, Cause: t.causeOf(err, delivery.Unreachable)}
	}
	c := newConn(tcp)
	if err := c.SetDeadline(t.deadline); err != nil {
		_ = c.Close()
		return delivery.Result{Outcome: delivery.NotSent, Cause: delivery.Unreachable}
	}
	result, _ := t.over(c)
	return result
}

// try is one attempt while it is made.
type try struct {
	*Upstream
	attempt  *Attempt
	ctx      context.Context
	deadline time.Time
}

// over makes the attempt over one connection, whose deadline is set. It is not sent if the connection took no byte of it, which is certain only
// when the very first write says so.
func (t *try) over(c *conn) (result delivery.Result, sent bool) {
	stop := c.closeOn(t.ctx)
	written, err := t.send(c)
	if err != nil {
		stop()
		_ = c.Close()
		return delivery.Result{Outcome: delivery.NotSent, Cause: t.causeOf(err, delivery.Unreachable)}, false
	}
	response, reusable, err := t.receive(c)
	if err != nil {
		stop()
		_ = c.Close()
		written.wait()
		return delivery.Result{Outcome: delivery.Unknown, Cause: t.causeOf(err, delivery.Incomplete)}, true
	}
	// A request that is not written whole by now has been answered early: its connection is out of step.
	if stop() && written.whole() && reusable {
		t.pool.put(c, time.Now())
	} else {
		_ = c.Close()
		written.wait()
	}
	return delivery.Result{Outcome: delivery.Answered, Response: response}, true
}

// causeOf tells the end of the attempt's time from other errors.
func (t *try) causeOf(err error, otherwise delivery.Cause) delivery.Cause {
	var timeout net.Error
	if t.ctx.Err() != nil || !errors.As(err, &timeout) || !timeout.Timeout() {
		return otherwise
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(t.deadline) {
		return delivery.TimedOut
	}
	return otherwise
}

// writing is a request on its way out.
type writing chan error

// whole tells whether the request has been written, without waiting for it.
func (w writing) whole() bool {
	if w == nil {
		return true
	}
	select {
	case err := <-w:
		w <- err
		return err == nil
	default:
		return false
	}
}

// wait returns when nobody writes any longer.
func (w writing) wait() {
	if w != nil {
		w <- <-w
	}
}

// oneWrite is the size up to which a request is written in one go and without a goroutine: a socket takes that at once.
const oneWrite = 16 << 10

// send writes the request. A large one is written aside, because the application may answer before it has read it. An
// error means that no byte was taken; what fails later shows when the answer is read.
func (t *try) send(c *conn) (writing, error) {
	c.received = false
	body := t.attempt.Delivery.Body
	bytes := head(c.scratch[:0]).attempt(t.attempt, t.dialer.authority)
	if len(bytes)+len(body) > oneWrite {
		written := make(writing, 1)
		go func() {
			parts := net.Buffers{bytes, body}
			_, err := parts.WriteTo(c.TCPConn)
			written <- err
		}()
		return written, nil
	}
	bytes = append(bytes, body...)
	c.scratch = bytes
	if n, err := c.Write(bytes); n == 0 && err != nil {
		return nil, err
	}
	return nil, nil
}

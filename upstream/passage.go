package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// errSender: the sender is gone, or its body broke off. Nobody listens any longer.
var errSender = errors.New("the sender broke off")

// passage is one HTTP/1.1 exchange on its way through.
type passage struct {
	*Passthrough
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	upgrade string // the protocol that the sender asks for; empty: none
	pump    *pump  // of the request's body; nil: it has none
	severed bool   // nothing more is read from the sender
	begun   bool   // the answer's final header section has been written
}

// run makes the exchange over as many connections as it takes to find one that works.
func (x *passage) run() error {
	for {
		c, err := x.connect()
		if err != nil {
			return x.cause(err)
		}
		again, err := x.over(c)
		if !again {
			return err
		}
	}
}

func (x *passage) connect() (*conn, error) {
	if c := x.pool.take(time.Now(), time.Time{}); c != nil {
		return c, nil
	}
	tcp, err := x.dialer.dial(x.r.Context(), time.Time{})
	if err != nil {
		return nil, err
	}
	return newConn(tcp), nil
}

// fail answers for an exchange that came to nothing, or breaks the connection off where the answer has begun.
func (x *passage) fail(err error) {
	if x.pump == nil && hasBody(x.r) {
		x.hearOut(err) // which net/http does before it answers, so as to keep the connection
	}
	if x.breaksOff(err) {
		panic(http.ErrAbortHandler)
	}
	x.closeUnlessDrained()
	x.config.OnError(x.w, x.r, err)
}

// breaksOff tells that an error has no answer of its own: one has begun, or nobody is there to hear it.
func (x *passage) breaksOff(err error) bool {
	return err != nil && (x.begun || errors.Is(err, errSender))
}

// cause is what ended an exchange: an error, unless its time was over or the sender gone. It is asked before anything is
// broken off, for that ends the request and its body as well.
func (x *passage) cause(err error) error {
	switch {
	case timedOut(x.r):
		return ErrTimedOut
	case x.r.Context().Err() != nil, x.pump != nil && x.pump.failed.Load():
		return errSender
	}
	return err
}

// timedOut tells that a request has ended because somebody set the application a time.
func timedOut(r *http.Request) bool { return errors.Is(context.Cause(r.Context()), ErrTimedOut) }

// closeUnlessDrained ends the sender's connection with the answer where its body is not read to the end: what it still
// sends could not be told from its next request.
func (x *passage) closeUnlessDrained() {
	if x.severed || x.pump != nil && !x.pump.drained.Load() {
		x.w.Header().Set("Connection", "close")
	}
}

// over makes the exchange over one connection. again tells that nothing was done and another one may be tried.
func (x *passage) over(c *conn) (again bool, err error) {
	stop := c.closeOn(x.r.Context())
	response, err := x.ask(c)
	if err != nil {
		stop()
		again = errors.Is(err, errNotTaken) || x.repeatable(c, err)
		err = x.cause(err)
		x.abandon(c, err)
		return again, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return false, x.switchProtocols(c, response, stop)
	}
	if err := x.relay(c, response); err != nil {
		stop()
		x.abandon(c, err)
		return false, err
	}
	x.finishBody()
	if stop() && x.pump.whole() && c.keepable(response, x.config.IdleTimeout) {
		x.pool.put(c, time.Now())
		return false, nil
	}
	x.abandon(c, nil)
	return false, nil
}

// ask sends the request and returns the final header section, or that of a switch of protocols.
func (x *passage) ask(c *conn) (*http.Response, error) {
	c.received = false
	c.scratch = head(c.scratch[:0]).pass(x.r, x.upgrade, x.dialer.authority)
	if hasBody(x.r) {
		_ = x.control.EnableFullDuplex() // an error means that the protocol needs none
		x.pump = x.startPump(c)
	} else if n, err := c.Write(c.scratch); n == 0 && err != nil {
		return nil, fmt.Errorf("%w: %w: %w", ErrIncomplete, notTaken(c), err)
	}
	for {
		response, err := c.readHead(x.r.Method)
		if err != nil {
			return nil, err
		}
		switch status := response.StatusCode; {
		case status >= 200:
			return response, nil
		case status == http.StatusSwitchingProtocols && x.upgrade != "":
			return response, nil
		case status == http.StatusSwitchingProtocols:
			return nil, fmt.Errorf("%w: protocols switched unasked", ErrIncomplete)
		case status == http.StatusContinue:
			x.pump.proceed(response.Header)
		default:
			x.interim(response)
		}
	}
}

// errNotTaken: a connection that had been in use before took no byte of the request.
var errNotTaken = errors.New("nothing was sent")

func notTaken(c *conn) error {
	if c.reused {
		return errNotTaken
	}
	return io.ErrUnexpectedEOF
}

// repeatable tells whether the request may be sent again: it is safe to repeat by its method, has no body, and the
// application closed a connection that had been in use before without a byte of an answer.
func (x *passage) repeatable(c *conn, err error) bool {
	if !c.reused || c.received || hasBody(x.r) || x.upgrade != "" || x.r.Context().Err() != nil || !errors.Is(err, ErrIncomplete) {
		return false
	}
	switch x.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// abandon closes the connection to the application and ends the pump, whoever it waits for. A sender that is still
// sending, and has no answer yet, is first given a moment: reset in the middle, it might never see the one it gets. Where
// the request itself has ended there is no time for that.
func (x *passage) abandon(c *conn, err error) {
	_ = c.Close()
	if x.pump == nil {
		return
	}
	x.pump.cancel()
	if !x.begun && x.r.Context().Err() == nil {
		x.pump.endsWithin(x.grace)
	}
	switch {
	case x.pump.drained.Load():
	case x.pump.finished():
		x.hearOut(err)
	default:
		x.severed = true
		if x.control.SetReadDeadline(longAgo) != nil {
			return // a body that cannot be broken off is none that keeps a connection busy
		}
	}
	<-x.pump.done
}

// hearOut bounds how long net/http, which reads what is left of a body before it goes on, waits for a sender that only
// listens: not at all where the end of the connection is what tells it that its answer is broken off.
func (x *passage) hearOut(err error) {
	deadline := time.Now().Add(leftoverTime)
	if x.breaksOff(err) {
		deadline = longAgo
	}
	_ = x.control.SetReadDeadline(deadline) // an error means that it is not from a connection
}

// longAgo is a deadline that ends whatever waits.
var longAgo = time.Unix(1, 0) //nolint:gochecknoglobals // a constant that Go cannot say

// leftoverTime is how long a sender has for the rest of a body that nobody wants.
const leftoverTime = 3 * time.Second

// bodyGrace is how long a sender may pause that is still sending when its answer is complete or the application gone.
const bodyGrace = 200 * time.Millisecond

// finishBody lets a sender go on sending after an early answer as long as the application takes it and it does not
// pause. The answer says Connection: close then.
func (x *passage) finishBody() {
	if x.pump == nil || x.pump.finished() {
		return
	}
	if x.begun {
		_ = x.control.Flush() // before, it would make an answer up
	}
	x.pump.cancel()
	for moved := int64(-1); moved != x.pump.moved.Load(); {
		moved = x.pump.moved.Load()
		if x.pump.endsWithin(x.grace) {
			return
		}
	}
}

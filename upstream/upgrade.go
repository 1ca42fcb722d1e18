package upstream

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

// switchProtocols tells the sender that the application switched, and then carries bytes until both sides have ended.
func (x *passage) switchProtocols(c *conn, response *http.Response, stop func() bool) error {
	defer c.Close() //nolint:errcheck // the exchange is over
	x.finishBody()
	var err error
	if !stop() {
		err = x.cause(errSender)
	} else if !x.pump.whole() {
		err = x.cause(fmt.Errorf("%w: protocols switched before the body was sent", ErrIncomplete))
	}
	if err != nil {
		x.abandon(c, err)
		return err
	}
	x.switches.enter() // before the server forgets the connection, so that one of them knows it at any time
	defer x.switches.leave()
	sender, buffered, err := x.control.Hijack()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	if followed, ok := sender.(interface{ Unfollow() }); ok {
		followed.Unfollow() // a listener that checks requests has none to check any more
	}
	x.begun = true
	defer sender.Close() //nolint:errcheck // the exchange is over
	if _, err := sender.Write(switched(response)); err != nil {
		return nil
	}
	ended := make(chan bool, 2)
	go func() { ended <- carry(c.TCPConn, buffered.Reader, sender) }()
	go func() { ended <- carry(sender, c.reader, c) }()
	for range 2 { // one side may have more to say than the other
		select {
		case clean := <-ended:
			if !clean {
				return nil
			}
		case <-x.switches.cut:
			return nil
		}
	}
	return nil
}

// switched is the header section of a 101 answer, with the fields of the connection, for it concerns both.
func switched(response *http.Response) head {
	h := head("HTTP/1.1 101 Switching Protocols\r\n")
	for name, values := range response.Header {
		for _, value := range values {
			h = h.field(name, value)
		}
	}
	return h.end()
}

// carry copies until from ends, and then ends that direction only. Where that is not possible it ends both.
func carry(to net.Conn, from io.Reader, source net.Conn) (clean bool) {
	_, err := io.Copy(to, from)
	half, able := to.(interface{ CloseWrite() error })
	if err == nil && able && half.CloseWrite() == nil {
		return true
	}
	_ = to.Close()
	_ = source.Close()
	return false
}

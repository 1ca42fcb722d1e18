package proxy

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// chunkBytes is how much of a body is read, and charged to the budget, at a time.
const chunkBytes = 32 << 10

// Errors of reading a body that are not the reader's own.
var (
	errTooLarge   = errors.New("the body is over the route's limit")
	errOverBudget = errors.New("too many bytes are being handled")
)

// read takes the body in whole, within the route's limit and the budget, before anything else looks at it.
func (x *exchange) read() *reply {
	arrow := x.start(StageRead)
	defer arrow.end()
	body, err := x.body()
	if err != nil {
		x.release() // while the sender goes on sending, others may have the room
	}
	switch {
	case errors.Is(err, errTooLarge):
		return refusal(bodyTooLarge())
	case errors.Is(err, errOverBudget):
		return refusal(overloaded())
	case err != nil:
		return refusal(bodyIncomplete())
	}
	x.unread = false
	x.delivery = &delivery.Delivery{
		Method:   x.r.Method,
		Target:   x.r.RequestURI,
		Host:     x.r.Host,
		Peer:     peer(x.r.RemoteAddr),
		Header:   x.r.Header,
		Body:     body,
		Received: x.began,
	}
	return nil
}

// body reads to the end. A sender that stops in the middle is waited for only so long.
func (x *exchange) body() ([]byte, error) {
	if x.r.ContentLength == 0 {
		return nil, nil
	}
	if arrived(x.r) {
		return x.collect() // without a deadline, which costs more than to read
	}
	control := http.NewResponseController(x.w)
	if err := control.SetReadDeadline(time.Now().Add(x.config.BodyTimeout)); err != nil {
		return nil, err
	}
	body, err := x.collect()
	if err == nil {
		err = control.SetReadDeadline(time.Time{})
	}
	return body, err
}

// collect grows with what arrives, not with what was announced.
func (x *exchange) collect() ([]byte, error) {
	x.reading = true
	body := make([]byte, 0, max(min(x.r.ContentLength, chunkBytes), 512))
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		// One byte over the limit is enough: a reader of chunks waits until the window is full or the chunk ends.
		window := body[len(body):min(cap(body), len(body)+chunkBytes, int(x.route.MaxBody)+1)]
		n, err := x.r.Body.Read(window)
		body = body[:len(body)+n]
		if int64(len(body)) > x.route.MaxBody {
			return nil, errTooLarge
		}
		if !x.charge(int64(n)) {
			return nil, errOverBudget
		}
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (x *exchange) charge(n int64) bool {
	if !x.budget.take(x.route.Scope, n) {
		return false
	}
	x.charged += n
	return true
}

// release gives back what the exchange holds of the budget.
func (x *exchange) release() {
	if x.charged > 0 {
		x.budget.release(x.route.Scope, x.charged)
		x.charged = 0
	}
}

// peer is the remote IP without its port.
func peer(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

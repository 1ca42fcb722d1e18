package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/internal/testenv"
)

// A switch of protocols before the body was sent is no answer, and one that the body catches up with is the only one.
func TestAnUpgradeWithABodyIsAnsweredOnce(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\nContent-Length: 10\r\n\r\n"
	for name, c := range map[string]struct {
		first, rest string
		status      int
	}{
		"none of the body":    {head, "", 599},
		"half of the body":    {head + "12345", "", 599},
		"the rest comes":      {head + "12345", "67890", 101},
		"all of it is here":   {head + "1234567890", "", 101},
		"and what comes next": {head + "1234567890early", "", 101},
	} {
		errs, switched := make(chan error, 1), make(chan struct{})
		app := newApplication(t, func(p *peer) {
			p.head()
			io.WriteString(p.TCPConn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello")
			close(switched)
			io.Copy(io.Discard, p.Reader)
		})
		var change []func(*Passthrough)
		if c.rest != "" {
			change = append(change, unhurried)
		}
		sender := connect(t, newFront(t, Config{URL: app.url(), OnError: onError(errs)}, change...))
		sender.send(c.first)
		<-switched
		sender.send(c.rest)
		if response := sender.response("POST"); response.StatusCode != c.status || c.status != 101 && !response.Close {
			t.Errorf("%s: status %d, close %v", name, response.StatusCode, response.Close)
		}
		if c.status == 101 {
			sender.expect("hello")
		} else if rest, err := io.ReadAll(sender.reader); len(rest) > 0 || err != nil {
			t.Errorf("%s: %q, %v behind the answer", name, rest, err)
		} else if err := <-errs; !errors.Is(err, ErrIncomplete) {
			t.Errorf("%s: error %v", name, err)
		}
		sender.Close()
	}
}

// A sender that has its answer, and neither sends the rest of its body nor hangs up, is hung up on.
func TestASenderThatOnlyListensIsLetGo(t *testing.T) {
	for _, framing := range []string{"length", "chunks"} {
		for _, answer := range []string{"", "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"} {
			heard, gone := make(chan struct{}), make(chan struct{})
			app := newApplication(t, func(p *peer) {
				p.head()
				io.WriteString(p.TCPConn, answer)
				<-heard
				p.reset()
				close(gone)
			})
			errs := make(chan error, 1)
			c := connect(t, newFront(t, Config{URL: app.url(), OnError: onError(errs)}))
			head, first, second := halves(framing, 1000)
			c.send(head + first)
			if answer != "" {
				c.response("POST")
			}
			close(heard)
			<-gone
			c.send(second[:100]) // which nobody takes
			if answer == "" {
				c.response("POST")
			}
			if rest, err := io.ReadAll(c.reader); len(rest) > 0 || err != nil {
				t.Errorf("%s, answer %q: %q, %v", framing, answer, rest, err)
			}
		}
	}
}

// Where a request has ended, be it that its sender is gone, everything is closed, or its time is over, nobody is waited for.
func TestTheEndOfARequestWaitsForNoSender(t *testing.T) {
	app := newApplication(t, func(p *peer) {
		p.head()
		io.Copy(io.Discard, p.Reader)
	})
	for name, cause := range map[string]error{"its time is over": ErrTimedOut, "it is given up": errors.New("gone")} {
		p, err := NewPassthrough(Config{URL: app.url()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		began, took := make(chan context.CancelCauseFunc), make(chan time.Time, 1)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, end := context.WithCancelCause(r.Context())
			began <- end
			defer func() { took <- time.Now() }()
			p.ServeHTTP(w, r.WithContext(ctx))
		}))
		t.Cleanup(front.Close)
		soonest := time.Hour
		for range 5 { // of which a busy machine may delay some
			before := app.connections()
			c := connect(t, strings.TrimPrefix(front.URL, "http://"))
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nbeginning")
			end := <-began
			within(t, "the request arrives", func() bool { return app.connections() > before })
			ended := time.Now()
			end(cause)
			soonest = min(soonest, (<-took).Sub(ended))
			c.Close()
		}
		if soonest >= bodyGrace {
			t.Errorf("%s: that took %v", name, soonest)
		}
	}
}

// A sender in the middle of a body hears that there is no application, even if it waits for that word; one whose body is here
// keeps its connection.
func TestASenderInTheMiddleOfABodyIsToldThatNobodyIsThere(t *testing.T) {
	errs := make(chan error, 1)
	front := newFront(t, Config{URL: "http://" + testenv.Address(t), OnError: onError(errs)})
	for _, framing := range []string{"length", "chunks"} {
		head, first, second := halves(framing, 1000)
		c := connect(t, front)
		for _, body := range []string{first + second, first + second, first} {
			c.send(head + body)
			if response := c.response("POST"); response.StatusCode != 599 || response.Close != (body == first) {
				t.Errorf("%s, %d bytes: status %d, close %v", framing, len(body), response.StatusCode, response.Close)
			}
			if err := <-errs; !errors.Is(err, ErrUnreachable) {
				t.Errorf("%s: error %v", framing, err)
			}
		}
		if rest, err := io.ReadAll(c.reader); len(rest) > 0 || err != nil {
			t.Errorf("%s: %q, %v behind the last answer", framing, rest, err)
		}
	}
}

package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"
)

// idleHTTP2 is how long a connection without calls is kept. HTTP/2 says good-bye before it closes one, so that this does
// not race the application.
const idleHTTP2 = time.Minute

// newHTTP2 makes the transport for requests that came over HTTP/2 without TLS: they go on like that. It repeats only
// what the application has certainly not begun.
func newHTTP2(d *dialer) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols:              protocols,
		DisableCompression:     true,
		ExpectContinueTimeout:  expectPatience,
		IdleConnTimeout:        idleHTTP2,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.dial(ctx, time.Time{})
		},
	}
}

func (p *Passthrough) serveHTTP2(w http.ResponseWriter, r *http.Request) {
	before := interims{w: w}
	response, err := p.http2.RoundTrip(p.outgoing(r, &httptrace.ClientTrace{Got1xxResponse: before.add}))
	before.end()
	if err != nil {
		switch {
		case timedOut(r):
			err = ErrTimedOut
		case r.Context().Err() != nil:
			panic(http.ErrAbortHandler)
		case !errors.Is(err, ErrUnreachable):
			err = fmt.Errorf("%w: %w", ErrIncomplete, err)
		}
		p.config.OnError(w, r, err)
		return
	}
	defer response.Body.Close() //nolint:errcheck // the exchange is over
	header := w.Header()
	copyAnswer(header, response)
	w.WriteHeader(response.StatusCode)
	if err := p.stream(w, response.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	copyTrailer(header, response)
}

// stream copies a body and flushes each piece.
func (p *Passthrough) stream(w http.ResponseWriter, body io.Reader) error {
	buffer := p.buffers.Get().(*copyBuffer)
	defer p.buffers.Put(buffer)
	control := http.NewResponseController(w)
	_ = control.Flush() // the header section must not wait for the body
	for {
		n, err := body.Read(buffer[:])
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// outgoing is the request as it goes on. It shares the trailer with the one that came, which fills it in at the end.
func (p *Passthrough) outgoing(r *http.Request, trace *httptrace.ClientTrace) *http.Request {
	out := r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	out.RequestURI = ""
	out.Header = passed(r)
	out.URL = p.targetURL(r)
	out.Close = false
	for name := range r.Trailer {
		if !passable(name) {
			delete(r.Trailer, name)
		}
	}
	if !hasBody(r) {
		out.Body = http.NoBody
	}
	return out
}

// passed is the header of a request that goes through, as a map. An absent User-Agent is kept absent.
func passed(r *http.Request) http.Header {
	header := make(http.Header, len(r.Header)+2)
	for name, values := range r.Header {
		if passable(name) && name != "X-Forwarded-For" {
			header[name] = values
		}
	}
	if anyContains(r.Header["Te"], "trailers") {
		header["Te"] = []string{"trailers"}
	}
	if _, said := header["User-Agent"]; !said {
		header["User-Agent"] = nil
	}
	if chain := forwardedChain(r.Header, peerOf(r)); chain != "" {
		header["X-Forwarded-For"] = []string{chain}
	}
	return header
}

// targetURL makes net/http write the request's target as it came.
func (p *Passthrough) targetURL(r *http.Request) *url.URL {
	u := &url.URL{Scheme: "http", Host: p.dialer.authority, Opaque: r.RequestURI}
	if strings.HasPrefix(r.RequestURI, "//") { // which Opaque would take for an authority
		u.Opaque = ""
		u.Path, u.RawPath, u.RawQuery, u.ForceQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery, r.URL.ForceQuery
	}
	return u
}

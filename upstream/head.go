package upstream

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// head is a request's header section while it is put together.
type head []byte

func (h head) line(method, target, host string) head {
	h = append(h, method...)
	h = append(h, ' ')
	h = append(h, target...)
	h = append(h, " HTTP/1.1\r\nHost: "...)
	h = append(h, host...)
	return append(h, '\r', '\n')
}

// field leaves out what would end the line early. Whatever net/http read cannot hold that; a stored job might.
func (h head) field(name, value string) head {
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		return h
	}
	h = append(h, name...)
	h = append(h, ':', ' ')
	h = append(h, value...)
	return append(h, '\r', '\n')
}

func (h head) number(name string, value int64) head {
	h = append(h, name...)
	h = append(h, ':', ' ')
	h = strconv.AppendInt(h, value, 10)
	return append(h, '\r', '\n')
}

func (h head) end() head { return append(h, '\r', '\n') }

// forwardedFor adds the peer to the chain of whom a request came from.
func (h head) forwardedFor(header http.Header, peer string) head {
	chain := forwardedChain(header, peer)
	if chain == "" {
		return h
	}
	return h.field("X-Forwarded-For", chain)
}

// forwardedChain joins what X-Forwarded-For said before and the peer. Empty values are no link of the chain.
func forwardedChain(header http.Header, peer string) string {
	values := header["X-Forwarded-For"]
	if len(values) == 0 {
		return peer
	}
	var chain []string
	for _, value := range append(slices.Clip(values), peer) {
		if value != "" {
			chain = append(chain, value)
		}
	}
	return strings.Join(chain, ", ")
}

// attempt writes the header section of an attempt: the sender's fields without what belongs to the connection or looks
// like ours, and ours last.
func (h head) attempt(a *Attempt, authority string) head {
	d := a.Delivery
	host := d.Host
	if host == "" {
		host = authority
	}
	h = h.line(d.Method, d.Target, host)
	named := connectionNamed(d.Header)
	key := foldName(a.KeyHeader)
	for name, values := range d.Header {
		if hopByHop(name) || withheld(name) || sameFolded(name, key) || slices.Contains(named, name) {
			continue
		}
		for _, value := range values {
			h = h.field(name, value)
		}
	}
	h = h.forwardedFor(d.Header, d.Peer)
	if announcesLength(d.Method) || len(d.Body) > 0 || d.Header["Content-Length"] != nil {
		h = h.number("Content-Length", int64(len(d.Body)))
	}
	return h.ours(a).end()
}

func (h head) ours(a *Attempt) head {
	h = h.field(a.KeyHeader, a.KeyValue)
	h = h.field("Sidecar-Scope", string(a.Scope))
	h = h.number("Sidecar-Attempt", int64(a.Number))
	if a.EventType != "" {
		h = h.field("Sidecar-Event-Type", a.EventType)
	}
	if a.TraceParent != "" {
		h = h.field("Traceparent", a.TraceParent)
	}
	return h
}

// withheld tells whether a field of the sender does not go with an attempt, or not as it came.
func withheld(name string) bool {
	switch name {
	case "Host", "Content-Length", "X-Forwarded-For", "Accept-Encoding", "Expect":
		return true
	}
	return ours(name) || tracing(name) || reroutes(name)
}

// announcesLength tells whether an empty body is announced, too.
func announcesLength(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

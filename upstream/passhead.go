package upstream

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// pass writes the header section of a request that goes through. upgrade is the protocol to ask for, or empty.
func (h head) pass(r *http.Request, upgrade, authority string) head {
	host := r.Host
	if host == "" && !r.ProtoAtLeast(1, 1) {
		host = authority
	}
	h = h.line(r.Method, r.RequestURI, host)
	named := connectionNamed(r.Header)
	for name, values := range r.Header {
		if !passable(name) || rewritten(name) || slices.Contains(named, name) {
			continue
		}
		for _, value := range values {
			h = h.field(name, value)
		}
	}
	h = h.forwardedFor(r.Header, peerOf(r))
	if upgrade != "" {
		h = h.field("Connection", "Upgrade").field("Upgrade", upgrade)
	}
	if anyContains(r.Header["Te"], "trailers") {
		h = h.field("Te", "trailers")
	}
	return h.framing(r).end()
}

// framing announces the body as the sender did.
func (h head) framing(r *http.Request) head {
	switch {
	case hasBody(r) && r.ContentLength < 0:
		h = h.field("Transfer-Encoding", "chunked")
		for name := range r.Trailer {
			if passable(name) {
				h = h.field("Trailer", name)
			}
		}
	case hasBody(r):
		h = h.number("Content-Length", r.ContentLength)
	case r.Header["Content-Length"] != nil:
		h = h.number("Content-Length", 0)
	}
	if hasBody(r) && expects(r) {
		h = h.field("Expect", "100-continue")
	}
	return h
}

// passable tells whether a field goes through at all.
func passable(name string) bool { return !hopByHop(name) && !ours(name) && !reroutes(name) }

// rewritten tells whether a field goes through in another way than the rest.
func rewritten(name string) bool {
	switch name {
	case "Host", "Content-Length", "X-Forwarded-For", "Expect":
		return true
	}
	return false
}

// peerOf is the IP address of whoever connected.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// upgradeOf is what protocol a request asks to switch to. HTTP/2 is not a protocol to pass on like that: what follows
// would not be seen by anybody in between.
func upgradeOf(header http.Header) string {
	if !anyContains(header["Connection"], "upgrade") {
		return ""
	}
	upgrade := strings.Join(header["Upgrade"], ", ")
	if containsToken(upgrade, "h2c") || containsToken(upgrade, "h2") {
		return ""
	}
	return upgrade
}

func anyContains(lists []string, token string) bool {
	return slices.ContainsFunc(lists, func(list string) bool { return containsToken(list, token) })
}

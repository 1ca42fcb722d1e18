package dedupe

import (
	"net/http"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// never is what no record keeps even if it is asked to: the fields of a connection and of its framing.
func never(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

func (r Record) final(status int) bool {
	if r.Final != nil {
		return r.Final(status)
	}
	return status >= 200 && status <= 299
}

// keep is what a replay will say: the status, the fields of the allow-list, and the body up to its bound. The answer's
// own parts are not copied.
func (r Record) keep(answer *delivery.Response) *delivery.Response {
	kept := &delivery.Response{Status: answer.Status, Header: r.keepHeader(answer.Header)}
	switch {
	case answer.Omitted || len(answer.Body) > r.MaxBody:
		kept.Omitted = true
	case len(answer.Body) > 0:
		kept.Body = answer.Body
		// A body that was kept encoded is unreadable without this.
		if encoding := answer.Header.Values("Content-Encoding"); len(encoding) > 0 {
			kept.Header["Content-Encoding"] = encoding
		}
	}
	if len(kept.Body) == 0 {
		kept.Header.Del("Content-Encoding")
	}
	return kept
}

func (r Record) keepHeader(header http.Header) http.Header {
	kept := make(http.Header, len(r.Headers))
	for _, name := range r.Headers {
		name = http.CanonicalHeaderKey(name)
		if never(name) || namedByConnection(header, name) {
			continue
		}
		if values := header.Values(name); len(values) > 0 {
			kept[name] = values
		}
	}
	return kept
}

// namedByConnection tells that the application declared the field to be of this connection only.
func namedByConnection(header http.Header, name string) bool {
	return slices.ContainsFunc(header.Values("Connection"), func(list string) bool { return listed(list, name) })
}

package upstream

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// sameFolded tells whether an application that folds case and takes "_" for "-" confuses two header names. folded is
// in lower case with dashes.
func sameFolded(name, folded string) bool {
	return len(name) == len(folded) && hasFoldedPrefix(name, folded)
}

func hasFoldedPrefix(name, folded string) bool {
	if len(name) < len(folded) {
		return false
	}
	for i := range len(folded) {
		if foldByte(name[i]) != folded[i] {
			return false
		}
	}
	return true
}

func foldByte(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_':
		return '-'
	}
	return c
}

func foldName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// hopByHop tells whether a field, named in canonical form, belongs to one connection only.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
		"Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate":
		return true
	}
	return false
}

// connectionNamed returns the fields, in canonical form, that Connection declares to belong to this connection.
func connectionNamed(header http.Header) []string {
	var named []string
	for _, value := range header["Connection"] {
		for token := range strings.SplitSeq(value, ",") {
			if token = strings.Trim(token, " \t"); token != "" {
				named = append(named, http.CanonicalHeaderKey(token))
			}
		}
	}
	return named
}

// ours tells whether only the sidecar may say this to the application, on any path.
func ours(name string) bool { return hasFoldedPrefix(name, "sidecar-") }

// reroutes tells whether some frameworks take a field's value for the request's target.
func reroutes(name string) bool {
	return hasFoldedPrefix(name, "x-") && (sameFolded(name, "x-original-url") || sameFolded(name, "x-rewrite-url"))
}

// remethods tells whether some frameworks take a field's value for the request's method.
func remethods(name string) bool {
	return sameFolded(name, "x-http-method-override") || sameFolded(name, "x-http-method") || sameFolded(name, "x-method-override")
}

// tracing tells whether a field carries a trace context, which is ours on guarded routes.
func tracing(name string) bool {
	return sameFolded(name, "traceparent") || sameFolded(name, "tracestate") || sameFolded(name, "baggage")
}

// Forwarded gives the fields of a request with the peer that it came from at the end of X-Forwarded-For, as an attempt says
// it: a request that is kept does not have its peer any more when it is sent. header is not changed.
func Forwarded(header http.Header, peer string) http.Header {
	chain := forwardedChain(header, peer)
	if chain == "" {
		return header
	}
	out := maps.Clone(header)
	if out == nil {
		out = make(http.Header, 1)
	}
	out["X-Forwarded-For"] = []string{chain}
	return out
}

// Unclaimed gives the fields with which a request on a guarded route may pass that is no delivery: without what belongs
// to the connection, such as the wish to upgrade it, without the trace context and whatever looks like the idempotency
// header, which are the sidecar's to say there, and without Accept-Encoding and what names another method. header is not
// changed.
func Unclaimed(header http.Header, keyHeader string) http.Header {
	named := connectionNamed(header)
	key := foldName(keyHeader)
	out := make(http.Header, len(header))
	for name, values := range header {
		switch {
		case hopByHop(name), slices.Contains(named, name), ours(name), tracing(name), sameFolded(name, key):
		case name == "Accept-Encoding", name == "Expect", remethods(name):
		default:
			out[name] = values
		}
	}
	return out
}

package proxy

import (
	"bytes"
	"net/http"
	"strconv"
)

// extent is what a header section says about where its request ends.
type extent struct {
	length   int64
	sized    bool // by Content-Length
	chunked  bool
	http2    bool // the preface of HTTP/2, after which nothing is HTTP/1.1
	doubtful bool // somebody else may read another end out of it
}

// http2Preface is the only header section with which HTTP/2 begins. What is only like it net/http serves as HTTP/1.1.
const http2Preface = "PRI * HTTP/2.0\r\n\r\n"

// extentOf reads a header section that begins with its request line.
func extentOf(head []byte) extent {
	if string(head) == http2Preface {
		return extent{http2: true}
	}
	line, fields, _ := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	var e extent
	for len(fields) > 0 {
		var field []byte
		field, fields, _ = bytes.Cut(fields, []byte("\n"))
		if name, value, found := bytes.Cut(field, []byte(":")); found {
			e.read(name, bytes.Trim(value, " \t\r"))
		}
	}
	e.doubtful = e.doubtful || e.chunked && (e.sized || !hasChunks(line))
	return e
}

func (e *extent) read(name, value []byte) {
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		length, err := strconv.ParseUint(string(value), 10, 63)
		e.length, e.sized = int64(length), true //nolint:gosec // 63 bits fit
		e.doubtful = e.doubtful || err != nil
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		e.chunked = true
	}
}

// hasChunks tells whether a request line's version of HTTP knows Transfer-Encoding. Before 1.1 net/http overlooks the
// field, and takes what others read as the chunks of a body for the next request.
func hasChunks(line []byte) bool {
	major, minor, ok := http.ParseHTTPVersion(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	return ok && (major > 1 || major == 1 && minor >= 1)
}

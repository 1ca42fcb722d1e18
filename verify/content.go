package verify

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
)

// maxDecoded bounds a decoded copy of a compressed body, which is made only after the signature verified.
const maxDecoded = 8 << 20

// decodeContent undoes the Content-Encoding of a body for reading. ok is false where it is unknown, broken or decodes to
// more than maxDecoded bytes.
func decodeContent(h http.Header, body []byte) (plain []byte, ok bool) {
	values := h["Content-Encoding"]
	if len(values) == 0 {
		return body, true
	}
	if len(values) > 1 {
		return nil, false
	}
	var reader io.Reader
	source := bytes.NewReader(body)
	var err error
	switch strings.ToLower(strings.TrimSpace(values[0])) {
	case "", "identity":
		return body, true
	case "gzip", "x-gzip":
		reader, err = gzip.NewReader(source)
	case "deflate":
		reader, err = zlib.NewReader(source)
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	plain, err = io.ReadAll(io.LimitReader(reader, maxDecoded+1))
	return plain, err == nil && len(plain) <= maxDecoded && source.Len() == 0
}

// encoded tells whether a body is said to be compressed.
func encoded(h http.Header) bool {
	values := h["Content-Encoding"]
	return len(values) > 1 || len(values) == 1 && values[0] != "" && !strings.EqualFold(values[0], "identity")
}

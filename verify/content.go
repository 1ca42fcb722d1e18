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
	var err error
	switch strings.ToLower(strings.TrimSpace(values[0])) {
	case "", "identity":
		return body, true
	case "gzip", "x-gzip":
		reader, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		reader, err = zlib.NewReader(bytes.NewReader(body))
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	plain, err = io.ReadAll(io.LimitReader(reader, maxDecoded+1))
	return plain, err == nil && len(plain) <= maxDecoded
}

package upstream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// relay passes a final answer on, each piece as it comes.
func (x *passage) relay(c *conn, response *http.Response) error {
	if x.pump != nil {
		x.pump.cancel() // first: until then it may write a header section of its own
	}
	header := x.w.Header()
	copyAnswer(header, response)
	x.keepSpecial(header, response)
	if len(response.TransferEncoding) > 0 {
		header["Transfer-Encoding"] = response.TransferEncoding // or net/http would announce a length where it can
	}
	x.closeUnlessDrained()
	x.begun = true
	x.w.WriteHeader(response.StatusCode)
	if response.Body == http.NoBody || response.ContentLength == 0 {
		return nil
	}
	if err := x.copyBody(c, response); err != nil {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	copyTrailer(header, response)
	return nil
}

// copyBody writes the body and flushes whenever the next piece is not here yet.
func (x *passage) copyBody(c *conn, response *http.Response) error {
	buffer := x.buffers.Get().(*copyBuffer)
	defer x.buffers.Put(buffer)
	chunked := len(response.TransferEncoding) > 0
	left := response.ContentLength // never 0 where it is not known
	for unflushed := true; ; {
		if unflushed && left != 0 && mayWait(c, chunked) {
			_ = x.control.Flush() // an error shows again at the next write
			unflushed = false
		}
		n, err := response.Body.Read(buffer[:])
		if n > 0 {
			if _, err := x.w.Write(buffer[:n]); err != nil {
				return err
			}
			unflushed = true
			if left > 0 {
				left -= int64(n)
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

// mayWait tells whether reading on may have to wait for the application. Of a chunked body framing may be here without
// a byte to read, except at its end.
func mayWait(c *conn, chunked bool) bool {
	waiting := c.reader.Buffered()
	if !chunked || waiting == 0 {
		return waiting == 0
	}
	here, _ := c.reader.Peek(waiting)
	return len(here) < len("0\r\n\r\n") || !bytes.HasSuffix(here, []byte("\r\n\r\n"))
}

// copyAnswer copies the fields that do not belong to the connection, announces trailers, and keeps net/http from
// adding a date and a content type that the application did not send.
func copyAnswer(header http.Header, response *http.Response) {
	named := connectionNamed(response.Header)
	for name, values := range response.Header {
		if !slices.Contains(named, name) && (!hopByHop(name) || strings.HasPrefix(name, "Proxy-")) {
			header[name] = values
		}
	}
	for _, name := range []string{"Date", "Content-Type"} {
		if _, said := header[name]; !said {
			header[name] = nil
		}
	}
	if len(response.Trailer) > 0 {
		var names []string
		for name := range response.Trailer {
			names = append(names, name)
		}
		header["Trailer"] = []string{strings.Join(names, ", ")}
	}
}

// keepSpecial keeps fields that two statuses have and that would be lost. Of a 304 net/http takes away what describes the
// body that is not sent, which may be there and which it knows by the canonical form of its name only. A 426 must say
// which protocol is wanted.
func (x *passage) keepSpecial(header http.Header, response *http.Response) {
	switch response.StatusCode {
	case http.StatusNotModified:
		for _, name := range []string{"Content-Type", "Content-Length"} {
			if values := header[name]; len(values) > 0 {
				delete(header, name)
				header[strings.ToLower(name)] = values
			}
		}
	case http.StatusUpgradeRequired:
		if values := response.Header["Upgrade"]; len(values) > 0 && x.r.ProtoMajor == 1 {
			header["Upgrade"], header["Connection"] = values, []string{"Upgrade"}
		}
	}
}

// copyTrailer sends the trailer fields that came with the end of the body, announced or not.
func copyTrailer(header http.Header, response *http.Response) {
	announced := header.Get("Trailer")
	for name, values := range response.Trailer {
		if announced == "" || !containsToken(announced, name) {
			name = http.TrailerPrefix + name
		}
		header[name] = values
	}
}

// containsToken tells whether a comma list holds a token, without regard to case.
func containsToken(list, token string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.Trim(item, " \t"), token) {
			return true
		}
	}
	return false
}

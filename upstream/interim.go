package upstream

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"sync"
)

// interim passes on a 1xx answer, which HTTP/1.0 does not know.
func (x *passage) interim(response *http.Response) {
	if !x.r.ProtoAtLeast(1, 1) {
		return
	}
	if x.pump != nil {
		x.pump.speaking.Lock()
		defer x.pump.speaking.Unlock()
	}
	writeInterim(x.w, response.StatusCode, response.Header)
}

// writeInterim writes a 1xx answer with its fields, of which none stay for the final one. Where a call over HTTP/2 has ended,
// net/http may return before it has read the header. It takes a copy where it finds a Content-Length, which a 1xx answer
// does not have: so there is one, without a value.
func writeInterim(w http.ResponseWriter, status int, fields http.Header) {
	header := w.Header()
	maps.Copy(header, fields)
	header["Content-Length"] = nil
	w.WriteHeader(status)
	delete(header, "Content-Length")
	for name := range fields {
		delete(header, name)
	}
}

// interims are the 1xx answers to one call over HTTP/2 that its sender has not been told of yet. Telling one takes as long
// as the sender likes, and the connection to the application, which brings them, has other calls to serve.
type interims struct {
	w http.ResponseWriter

	mu      sync.Mutex
	waiting []interim
	size    int  // bytes, about, of those that wait
	telling bool // somebody tells them
	ended   bool
	tellers sync.WaitGroup // one at most
}

type interim struct {
	status int
	fields http.Header
	size   int
}

// add has an answer told behind those that wait, without waiting for that. An error, which wraps ErrIncomplete, ends the
// call: its sender does not keep up.
func (i *interims) add(status int, fields textproto.MIMEHeader) error {
	if status == http.StatusContinue {
		return nil // net/http asks the sender for the body when that is first read
	}
	next := interim{status, http.Header(fields), headerSize(fields)}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.ended:
		return nil
	case i.size+next.size > maxHeaderBytes:
		return fmt.Errorf("%w: too many interim answers wait for the sender", ErrIncomplete)
	}
	i.size += next.size
	i.waiting = append(i.waiting, next)
	if !i.telling {
		i.telling = true
		i.tellers.Go(i.tell)
	}
	return nil
}

// tell writes what waits, until nothing does.
func (i *interims) tell() {
	for next, found := i.next(); found; next, found = i.next() {
		writeInterim(i.w, next.status, next.fields)
	}
}

func (i *interims) next() (next interim, found bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.waiting) == 0 {
		i.telling = false
		return interim{}, false
	}
	next = i.waiting[0]
	i.waiting = i.waiting[1:]
	i.size -= next.size
	return next, true
}

// end waits until all are told. What comes after it is not, so that the final answer may be written.
func (i *interims) end() {
	i.mu.Lock()
	i.ended = true
	i.mu.Unlock()
	i.tellers.Wait()
}

// headerSize is about what a header section takes, as HTTP/2 counts it.
func headerSize(fields textproto.MIMEHeader) int {
	const overhead = 32
	size := overhead
	for name, values := range fields {
		for _, value := range values {
			size += len(name) + len(value) + overhead
		}
	}
	return size
}

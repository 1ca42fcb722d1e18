package rediscache

import (
	"encoding/binary"
	"net/http"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// What a payload turned out to be.
const (
	foreign  = iota // not of this event: nothing
	reopened        // the mark of Reopen
	ours            // a fact
)

// decode reads a payload of which the reader says whose it must be. It accepts exactly what encode writes. The fact
// shares the payload's memory: nobody may change either.
func decode(payload []byte, scope delivery.Scope, id delivery.EventID) (fact, int) {
	r := reader{raw: payload, ok: true}
	kind := r.uint8()
	if string(r.short()) != string(scope) || string(r.short()) != string(id) {
		return fact{}, foreign
	}
	r.all = string(r.raw)
	if kind == kindReopened && r.done() {
		return fact{}, reopened
	}
	f := fact{scope: scope, id: id}
	r.fact(&f)
	if kind != kindFact || !r.done() {
		return fact{}, foreign
	}
	return f, ours
}

// reader cuts a payload into its parts. After the first part that is not as it should be, all are empty and ok is false.
type reader struct {
	raw []byte
	all string // what raw was when the texts began: they share its memory
	ok  bool
}

func (r *reader) done() bool { return r.ok && len(r.raw) == 0 }

func (r *reader) fact(f *fact) {
	copy(f.fingerprint[:], r.take(len(f.fingerprint)))
	flags := r.uint8()
	r.want(flags&^(flagBound|flagOmitted) == 0)
	f.bound = flags&flagBound != 0
	f.attempt = r.uint32()
	f.lastStatus = r.uint16()
	f.created = r.time()
	f.confirmed = r.time()
	f.expires = r.time()
	f.reason = r.reason()
	f.trace = r.text(int(r.uint8()))
	f.response = r.response(flags&flagOmitted != 0)
}

func (r *reader) response(omitted bool) *delivery.Response {
	response := &delivery.Response{Status: int(r.uint16()), Omitted: omitted}
	r.want(response.Status > 100 && response.Status < 600)
	response.Header = r.header()
	if size := int(r.uint32()); size > 0 {
		r.want(!omitted)
		response.Body = r.take(size)
	}
	return response
}

// header reads fields in rising order of their names.
func (r *reader) header() http.Header {
	count := int(r.uint16())
	header := make(http.Header, min(count, 8))
	last := ""
	for i := 0; i < count && r.ok; i++ {
		name := r.text(int(r.uint16()))
		r.want(i == 0 || last < name)
		header[name] = r.values()
		last = name
	}
	return header
}

func (r *reader) values() []string {
	count := int(r.uint16())
	if r.want(2*count <= len(r.raw)); !r.ok {
		return nil
	}
	values := make([]string, count)
	for i := range values {
		values[i] = r.text(int(r.uint16()))
	}
	return values
}

// reason is empty or a word: it may become a label.
func (r *reader) reason() dedupe.Reason {
	text := r.text(int(r.uint8()))
	r.want(text == "" || delivery.CheckToken(text) == nil)
	return dedupe.Reason(text)
}

func (r *reader) want(fine bool) {
	if !fine {
		r.ok, r.raw = false, nil
	}
}

func (r *reader) take(size int) []byte {
	if r.want(size <= len(r.raw)); !r.ok {
		return nil
	}
	part := r.raw[:size:size]
	r.raw = r.raw[size:]
	return part
}

func (r *reader) uint8() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if part := r.take(2); part != nil {
		return binary.BigEndian.Uint16(part)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if part := r.take(4); part != nil {
		return binary.BigEndian.Uint32(part)
	}
	return 0
}

func (r *reader) time() time.Time {
	part := r.take(8)
	if part == nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(part)))
}

func (r *reader) short() []byte { return r.take(int(r.uint8())) }

func (r *reader) text(size int) string {
	start := len(r.all) - len(r.raw)
	if r.take(size) == nil {
		return ""
	}
	return r.all[start : start+size]
}

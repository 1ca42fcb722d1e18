package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/webhook-sidecar/webhook-sidecar/dedupe"
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Responses and requests are stored as bytes: foreign header values are not text that a database would accept. A string
// is its length as a uvarint and its bytes; a header field is a code for its name, the name if the code is 0, and one
// value, so that a field with several values is there several times. A field without any has a bit in its code, and the
// commonest fields have a code together with their value, since most results have just one of these.

const (
	headPlain   = 1 // first byte of a response's head
	headOmitted = 2 // the body was too large to keep
	jobFormat   = 1 // first byte of a request
	noValue     = 0x80
	wholeField  = 0x40
)

// fieldNames have codes, from 1. Stored: append only.
func fieldNames() []string {
	return []string{contentType, "Location", "Etag", "Content-Encoding", "Content-Language", "Cache-Control", "Retry-After",
		"Link"}
}

// contentTypes have codes, from wholeField. Stored: append only.
func contentTypes() []string {
	return []string{"application/json", "application/json; charset=utf-8", "text/plain", "text/plain; charset=utf-8",
		"text/html", "text/html; charset=utf-8", "application/problem+json", "application/xml", "text/xml",
		"application/json;charset=UTF-8", "text/plain;charset=UTF-8", "text/html; charset=UTF-8",
		"application/json; charset=UTF-8", "text/plain; charset=UTF-8", "text/html;charset=UTF-8"}
}

const contentType = "Content-Type"

var errWire = errors.New("postgres: a stored response or request is malformed")

// packHead writes a response without its status and body; nil: empty.
func packHead(r *delivery.Response) []byte {
	if r == nil {
		return []byte{}
	}
	head := append(make([]byte, 0, 32), headPlain)
	if r.Omitted {
		head[0] = headOmitted
	}
	return appendFields(head, r.Header)
}

// unpackHead reads what packHead wrote; nil for an empty head.
func unpackHead(head []byte) (*delivery.Response, error) {
	if len(head) == 0 {
		return nil, nil
	}
	if head[0] != headPlain && head[0] != headOmitted {
		return nil, errWire
	}
	in := wire{rest: head[1:]}
	response := &delivery.Response{Omitted: head[0] == headOmitted, Header: in.fields()}
	return response, in.err
}

// keptResponse is a recorded result as it is stored; nil where there is none.
func keptResponse(status int, head, body []byte) *delivery.Response {
	response, err := unpackHead(head)
	if err != nil {
		return dedupe.DamagedResponse(status)
	}
	if response != nil {
		response.Status, response.Body = status, body
	}
	return response
}

// packJob writes a request.
func packJob(j *dedupe.Job) []byte {
	fields := appendFields(nil, j.Header)
	packed := make([]byte, 0, len(fields)+len(j.Method)+len(j.Target)+len(j.Host)+len(j.Body)+16)
	packed = append(packed, jobFormat)
	for _, text := range []string{j.Method, j.Target, j.Host} {
		packed = appendString(packed, text)
	}
	packed = binary.AppendUvarint(packed, uint64(len(fields)))
	packed = append(packed, fields...)
	return append(packed, j.Body...)
}

// unpackJob reads what packJob wrote. The parts do not share memory with packed, but for the body.
func unpackJob(packed []byte) (*dedupe.Job, error) {
	if len(packed) == 0 || packed[0] != jobFormat {
		return nil, errWire
	}
	in := wire{rest: packed[1:]}
	job := &dedupe.Job{Method: in.string(), Target: in.string(), Host: in.string()}
	fields := wire{rest: in.take()}
	job.Header, job.Body = fields.fields(), in.rest
	if in.err == nil {
		in.err = fields.err
	}
	return job, in.err
}

// keptJob is a request as it is stored.
func keptJob(packed []byte) *dedupe.Job {
	job, err := unpackJob(packed)
	if err != nil {
		return dedupe.DamagedJob()
	}
	return job
}

// sealedHead is how the sealed value in a packed request begins, of which only the beginning may be given; false for a
// request that is not sealed. Such a one has a method. What is no request is sealed with nothing.
func sealedHead(packed []byte) ([]byte, bool) {
	if len(packed) == 0 || packed[0] != jobFormat {
		return nil, true
	}
	bare := packJob(dedupe.SealedJob(nil))
	return bytes.CutPrefix(packed, bare)
}

func appendFields(to []byte, header map[string][]string) []byte {
	var few [8]string
	fields := few[:0]
	for field := range header {
		fields = append(fields, field)
	}
	slices.Sort(fields)
	for _, field := range fields {
		code := byte(slices.Index(fieldNames(), field) + 1)
		if len(header[field]) == 0 {
			to = appendName(to, code|noValue, field)
		}
		for _, value := range header[field] {
			to = appendField(to, code, field, value)
		}
	}
	return to
}

func appendField(to []byte, code byte, field, value string) []byte {
	if field == contentType {
		if whole := slices.Index(contentTypes(), value); whole >= 0 {
			return append(to, wholeField|byte(whole))
		}
	}
	return appendString(appendName(to, code, field), value)
}

func appendName(to []byte, code byte, field string) []byte {
	to = append(to, code)
	if code&^noValue == 0 {
		to = appendString(to, field)
	}
	return to
}

func appendString(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// wire reads; after an error it reads nothing more.
type wire struct {
	rest []byte
	err  error
}

func (w *wire) fields() map[string][]string {
	header := map[string][]string{}
	for len(w.rest) > 0 {
		code := w.rest[0]
		w.rest = w.rest[1:]
		field, values := w.field(code)
		if had, again := header[field]; again {
			values = append(had, values...)
		}
		if w.err == nil {
			header[field] = values
		}
	}
	return header
}

// field reads what follows a code: a field and its value, or none.
func (w *wire) field(code byte) (string, []string) {
	if whole := int(code &^ wholeField); code&wholeField != 0 && whole < len(contentTypes()) {
		return contentType, []string{contentTypes()[whole]}
	}
	field := w.name(int(code &^ noValue))
	if code&noValue != 0 {
		return field, []string{}
	}
	return field, []string{w.string()}
}

func (w *wire) name(code int) string {
	switch {
	case code == 0:
		return w.string()
	case code <= len(fieldNames()):
		return fieldNames()[code-1]
	default:
		w.err, w.rest = errWire, nil
		return ""
	}
}

func (w *wire) string() string { return string(w.take()) }

// take reads a length and as many bytes.
func (w *wire) take() []byte {
	length, n := binary.Uvarint(w.rest)
	if w.err != nil || n <= 0 || length > uint64(len(w.rest)-n) {
		w.err, w.rest = errWire, nil
		return nil
	}
	taken := w.rest[n : n+int(length)]
	w.rest = w.rest[n+int(length):]
	return taken
}

package main

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

// reader reads answers from a persistent connection. For one goroutine.
type reader struct {
	from   io.Reader
	buffer []byte
}

var (
	endOfHead     = []byte("\r\n\r\n")
	contentLength = []byte("\r\ncontent-length: ")
	errFraming    = errors.New("an answer without Content-Length")
)

// read returns the status and the head of one answer; the head is valid until the next call.
func (r *reader) read() (int, []byte, error) {
	filled, end := 0, -1
	for end < 0 {
		if filled == len(r.buffer) {
			return 0, nil, errors.New("an answer's head is too long")
		}
		n, err := r.from.Read(r.buffer[filled:])
		if err != nil {
			return 0, nil, err
		}
		filled += n
		end = bytes.Index(r.buffer[:filled], endOfHead)
	}
	head := r.buffer[:end+2]
	length, err := lengthOf(head)
	if err != nil || len(head) < len("HTTP/1.1 200") {
		return 0, nil, errFraming
	}
	status, err := strconv.Atoi(string(head[9:12]))
	if err != nil {
		return 0, nil, err
	}
	return status, head, r.skip(length - (filled - end - len(endOfHead)))
}

func lengthOf(head []byte) (int, error) {
	at := indexFold(head, contentLength)
	if at < 0 {
		return 0, errFraming
	}
	value := head[at+len(contentLength):]
	return strconv.Atoi(string(value[:bytes.IndexByte(value, '\r')]))
}

// indexFold finds lower-case text whatever its case in head.
func indexFold(head, text []byte) int {
	for at := 0; ; at++ {
		next := bytes.IndexByte(head[at:], '\r')
		if next < 0 || at+next+len(text) > len(head) {
			return -1
		}
		at += next
		if bytes.EqualFold(head[at:at+len(text)], text) {
			return at
		}
	}
}

// skip reads the rest of a body that did not come with the head.
func (r *reader) skip(rest int) error {
	for rest > 0 {
		n, err := r.from.Read(r.buffer[len(r.buffer)-min(rest, len(r.buffer)/2):])
		if err != nil {
			return err
		}
		rest -= n
	}
	if rest < 0 {
		return errors.New("more than one answer to one request")
	}
	return nil
}

package main

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAnswers(t *testing.T) {
	const one = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nSidecar-Receipt: applied\r\n\r\n{\"ok\":true}"
	const large = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 20000\r\n\r\n"
	for name, from := range map[string]io.Reader{
		"whole":       strings.NewReader(one),
		"in pieces":   iotest.OneByteReader(strings.NewReader(one)),
		"large piece": strings.NewReader(large + strings.Repeat("x", 20000)),
	} {
		r := &reader{from: from, buffer: make([]byte, 4096)}
		status, head, err := r.read()
		if err != nil || (status == 200) != strings.Contains(string(head), "\r\nSidecar-Receipt: applied\r\n") {
			t.Errorf("%s: %d %q %v", name, status, head, err)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for _, text := range []string{"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc",
		"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n"} {
		r := &reader{from: strings.NewReader(text), buffer: make([]byte, 4096)}
		if status, _, err := r.read(); err == nil {
			t.Errorf("%q is taken for an answer with status %d", text, status)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// maxCaptured bounds the body of a captured request.
const maxCaptured = 64 << 20

// parseRequest reads a captured raw HTTP/1.1 request. Where it announces no length, the body is the rest of the input.
func parseRequest(raw []byte, received time.Time) (*delivery.Delivery, error) {
	raw, err := normalHead(raw)
	if err != nil {
		return nil, err
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, errors.New("this is no HTTP/1.1 request: want a request line, header lines, an empty line and the body")
	}
	body, err := capturedBody(request, raw)
	if err != nil {
		return nil, err
	}
	return &delivery.Delivery{
		Method: request.Method, Target: request.RequestURI, Host: request.Host, Header: request.Header, Body: body,
		Received: received,
	}, nil
}

// normalHead gives the header lines the line ends of HTTP, which captures often lose, and leaves the body alone.
func normalHead(raw []byte) ([]byte, error) {
	if end := bytes.Index(raw, []byte("\r\n\r\n")); end >= 0 && !bytes.Contains(raw[:end], []byte("\n\n")) {
		return raw, nil
	}
	head, body, found := bytes.Cut(raw, []byte("\n\n"))
	if !found {
		return nil, errors.New("no empty line ends the header")
	}
	lines := strings.ReplaceAll(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n", "\r\n")
	return append([]byte(lines+"\r\n\r\n"), body...), nil
}

func capturedBody(request *http.Request, raw []byte) ([]byte, error) {
	if request.Header.Get("Content-Length") == "" && len(request.TransferEncoding) == 0 {
		_, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
		return body, nil
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, maxCaptured+1))
	switch {
	case err != nil:
		return nil, errors.New("the body is shorter than announced")
	case len(body) > maxCaptured:
		return nil, errors.New("the body is too large")
	}
	return body, nil
}

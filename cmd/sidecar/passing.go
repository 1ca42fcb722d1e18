package main

import (
	"errors"
	"net/http"

	"github.com/webhook-sidecar/webhook-sidecar/internal/admin"
	"github.com/webhook-sidecar/webhook-sidecar/upstream"
)

// passError answers for the application where a passed request did not reach it or got no answer.
func passError(w http.ResponseWriter, _ *http.Request, err error) {
	code, title := "upstream_incomplete", "The application gave no complete answer"
	if errors.Is(err, upstream.ErrUnreachable) {
		code, title = "upstream_unreachable", "The application cannot be reached"
	}
	admin.BadGateway(w, code, title)
}

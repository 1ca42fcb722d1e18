package main

import (
	"io"
	"log/slog"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// newLog makes the process's log: JSON for machines, text for people.
func newLog(settings config.Settings, out io.Writer, replica string) *slog.Logger {
	options := &slog.HandlerOptions{Level: settings.Level}
	var handler slog.Handler = slog.NewJSONHandler(out, options)
	if settings.LogFormat == "text" {
		handler = slog.NewTextHandler(out, options)
	}
	return slog.New(handler).With("replica", replica)
}

package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
)

// brokenOff logs a request that ends because of a fault of ours, and breaks it off: its sender must take no half of an
// answer for one. net/http itself tells of it among what senders do wrong, which nobody reads.
func brokenOff(inner http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault != http.ErrAbortHandler { //nolint:errorlint // it is the very value that net/http asks for
				log.ErrorContext(r.Context(), "a request was broken off by a fault in the sidecar",
					"fault", faultName(fault), "stack", callers())
			}
			panic(http.ErrAbortHandler)
		}()
		inner.ServeHTTP(w, r)
	})
}

// callers is who called whom, without what was passed: the runtime's own account shows the first bytes of keys and hashes.
func callers() string {
	var counters [64]uintptr
	var told strings.Builder
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		fmt.Fprintf(&told, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
	}
	return told.String()
}

// faultName is what the runtime says, or else only the kind of what was thrown, which may be made of a request.
func faultName(fault any) string {
	if said, ok := fault.(runtime.Error); ok {
		return said.Error()
	}
	return fmt.Sprintf("%T", fault)
}

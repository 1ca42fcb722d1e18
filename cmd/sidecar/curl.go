package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// curlCommand is a command for a POSIX shell that makes one request with the body on the command line.
func curlCommand(method, url string, header http.Header, body string) string {
	return strings.Join(append(curlHead(method, header), "--data-binary "+quoteShell(body), quoteShell(url)), " \\\n  ")
}

// curlHead is the command up to the body.
func curlHead(method string, header http.Header) []string {
	parts := []string{"curl -i -X " + method}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			parts = append(parts, "-H "+quoteShell(name+": "+value))
		}
	}
	return parts
}

// quoteShell quotes text for a POSIX shell.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// verifierTolerates tells whether the sender's scheme signs a time, so that a delivery grows stale.
func (s demoSender) verifierTolerates() bool {
	preset, _ := verify.LookupPreset(s.integration.Provider)
	return preset.Tolerance > 0
}

package main

import (
	"errors"
	"fmt"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
	"github.com/webhook-sidecar/webhook-sidecar/internal/admin"
	"github.com/webhook-sidecar/webhook-sidecar/internal/reload"
)

// adminTokens returns the reader of the operator API's tokens: the file is read for every request, so that a changed one
// counts at once. Nil where no file is configured.
func adminTokens(path string) (func() ([]admin.Token, error), error) {
	if path == "" {
		return nil, nil
	}
	read := func() ([]admin.Token, error) {
		text, err := reload.NewReading().ReadFile(path)
		if err != nil && config.MayBeSecret(path) {
			return nil, errors.New("admin tokens: " + config.NoName)
		}
		if err != nil {
			return nil, fmt.Errorf("admin tokens: %w", err)
		}
		tokens, err := admin.ParseTokens(text)
		if err != nil {
			return nil, fmt.Errorf("admin tokens: %s: %w", path, err)
		}
		return tokens, nil
	}
	if _, err := read(); err != nil {
		return nil, config.Problems{{Key: "SIDECAR_ADMIN_TOKEN_FILE", Text: err.Error()}}
	}
	return read, nil
}

// adminBearer is a token of the file that may read; empty where there is none.
func adminBearer(path string) string {
	read, err := adminTokens(path)
	if err != nil || read == nil {
		return ""
	}
	tokens, err := read()
	if err != nil {
		return ""
	}
	return string(tokens[0].Secret)
}

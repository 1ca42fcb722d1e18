package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/webhook-sidecar/webhook-sidecar/cmd/sidecar/config"
)

// adminToken returns the reader of the operator API's token: the file is read for every request, so that a changed token
// counts at once. Nil where no file is configured.
func adminToken(path string) (func() ([]byte, error), error) {
	if path == "" {
		return nil, nil
	}
	read := func() ([]byte, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("admin token: %w", err)
		}
		token := bytes.TrimSpace(text)
		if len(token) < 16 {
			return nil, errors.New("admin token: fewer than 16 bytes")
		}
		return token, nil
	}
	if _, err := read(); err != nil {
		return nil, config.Problems{{Key: "SIDECAR_ADMIN_TOKEN_FILE", Text: err.Error()}}
	}
	return read, nil
}

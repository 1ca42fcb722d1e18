package config

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// testSecret is long enough for nobody to warn about it.
const testSecret = "secret-0123456789abcdef0123456789"

// files is a source without a disk.
type files map[string]string

func (f files) source() Source {
	return Source{
		ReadFile: func(path string) ([]byte, error) {
			text, ok := f[path]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		},
		LookupEnv: func(name string) (string, bool) {
			text, ok := f["$"+name]
			return text, ok
		},
	}
}

// load reads text as the integrations file sidecar.yaml, beside a good secret.
func load(text string, more files) (*Set, error) {
	all := files{"/etc/s/sidecar.yaml": text, "/run/good": testSecret}
	for name, content := range more {
		all[name] = content
	}
	return LoadIntegrations("/etc/s/sidecar.yaml", all.source())
}

// integration is a valid one; lines are added at its level.
func integration(lines ...string) string {
	text := `  - account: acme
    name: payments
    route: /webhooks/stripe
    provider: stripe
    credentials: [{id: k1, secret: {file: /run/good}}]
`
	for _, line := range lines {
		text += "    " + line + "\n"
	}
	return text
}

// generic is a valid integration with a declared scheme.
func generic(lines ...string) string {
	return strings.Replace(integration(lines...), "provider: stripe", `provider: hmac
    hmac: {header: X-Signature, signed: "{body}"}
    event: {id: {json: /id}}`, 1)
}

func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("want Problems, got %v", err)
	}
	var lines []string
	for _, problem := range problems {
		lines = append(lines, strings.TrimPrefix(problem.String(), "/etc/s/"))
	}
	return lines
}

func mustLoad(t *testing.T, text string, more files) *Set {
	t.Helper()
	set, err := load(text, more)
	if err != nil {
		t.Fatalf("a valid configuration is refused: %v", err)
	}
	return set
}

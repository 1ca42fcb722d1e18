package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// secret reads a credential's secret from where the file says. A revoked one need not exist any more: whoever revokes a
// key may delete it.
func (l *loader) secret(m *mapping, into *Credential) {
	if m.node == nil {
		return
	}
	file, name, fetch := m.text("file", ""), m.text("env", ""), m.choice("fetch", "", "sender")
	m.done()
	if len(m.fields) != 1 || file+name+fetch == "" {
		m.reader.fail(m.node, m.path, "want exactly one of {file: PATH}, {env: NAME} or {fetch: sender}")
		return
	}
	switch {
	case fetch != "":
		into.Fetch, into.Origin = true, "the sender"
		return
	case file != "":
		into.Origin = "file " + file
		into.Secret = l.secretFile(m, file, into)
	default:
		into.Origin = "env " + name
		text, set := l.source.LookupEnv(name)
		if !set {
			l.secretProblem(m, into, "the environment variable %s is not set", name)
			return
		}
		into.Secret = []byte(text)
	}
	if into.Secret != nil {
		l.checkSecret(m, into)
	}
}

func (l *loader) secretProblem(m *mapping, credential *Credential, format string, args ...any) {
	credential.Secret = nil
	if credential.Status != revoked {
		m.reader.fail(m.node, m.path, format, args...)
	}
}

func (l *loader) secretFile(m *mapping, path string, into *Credential) []byte {
	secret := MayBeSecret(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(l.file), path)
	}
	text, err := l.source.ReadFile(path)
	switch {
	case err != nil && secret:
		l.secretProblem(m, into, "%s", NoName)
		return nil
	case err != nil:
		l.secretProblem(m, into, "the secret cannot be read: %v", reasonOf(err, path))
		return nil
	case len(text) > maxSecretBytes:
		l.secretProblem(m, into, "%s has more than %s", path, FormatSize(maxSecretBytes))
		return nil
	}
	stripped := stripLineEnd(text)
	if len(stripped) != len(text) && len(bytes.TrimSpace(stripped)) > 0 {
		l.note(m, "%s ends with a line end, which is not taken as a part of the secret", path)
	}
	return stripped
}

// reasonOf is why a file could not be read.
func reasonOf(err error, path string) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return fmt.Sprintf("%s: %v", path, pathError.Err)
	}
	return path + ": " + err.Error()
}

// stripLineEnd removes exactly one final line end.
func stripLineEnd(text []byte) []byte {
	stripped, found := bytes.CutSuffix(text, []byte("\n"))
	if !found {
		return text
	}
	return bytes.TrimSuffix(stripped, []byte("\r"))
}

// checkSecret refuses what no sender uses and editors produce.
func (l *loader) checkSecret(m *mapping, credential *Credential) {
	secret := credential.Secret
	trimmed := bytes.TrimSpace(secret)
	switch {
	case len(secret) == 0:
		l.secretProblem(m, credential, "the secret (%s) is empty", credential.Origin)
	case len(trimmed) == 0:
		l.secretProblem(m, credential, "the secret (%s) is only white space", credential.Origin)
	case bytes.HasPrefix(secret, []byte("\xef\xbb\xbf")):
		l.secretProblem(m, credential, "the secret (%s) begins with a byte-order mark, which an editor put there: remove it", credential.Origin)
	case bytes.HasPrefix(secret, []byte("\xff\xfe")), bytes.HasPrefix(secret, []byte("\xfe\xff")):
		l.secretProblem(m, credential, "the secret (%s) is encoded as UTF-16: save it as UTF-8", credential.Origin)
	case len(trimmed) != len(secret):
		l.warn(m, "the secret (%s) begins or ends with white space, which is taken as a part of it", credential.Origin)
	}
}

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

const revoked = verify.Revoked

// loader reads an integrations file and the secrets that it names.
type loader struct {
	reader
	source   Source
	warnings Problems
	notes    Problems
}

func (l *loader) warn(m *mapping, format string, args ...any) {
	l.warnings = append(l.warnings, m.remark(format, args...))
}

func (l *loader) note(m *mapping, format string, args ...any) {
	l.notes = append(l.notes, m.remark(format, args...))
}

func (m *mapping) remark(format string, args ...any) Problem {
	return Problem{File: m.reader.file, Line: m.node.Line, Key: m.path, Text: fmt.Sprintf(format, args...)}
}

// LoadIntegrations reads the integrations file and everything that it names. The error is a Problems with all that is
// wrong; then the set is nil.
func LoadIntegrations(file string, source Source) (*Set, error) {
	l := &loader{reader: reader{file: file}, source: source}
	text, err := source.ReadFile(file)
	if err != nil {
		return nil, Problems{{File: file, Text: unreadable(err)}}
	}
	root, problem := parseDocument(file, text)
	if problem != nil {
		return nil, Problems{*problem}
	}
	integrations := l.integrations(l.newMapping(root, ""))
	set := &Set{Integrations: integrations, Warnings: l.warnings, Notes: l.notes, file: file}
	for _, complaint := range set.build() {
		if !l.reported(complaint) {
			l.problems = append(l.problems, complaint)
		}
	}
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	set.warn()
	return set, nil
}

// reported tells whether a complaint of a verifier is about a key, or a part of one, that has a problem already.
func (l *loader) reported(complaint Problem) bool {
	for _, known := range l.problems {
		if known.Line == complaint.Line || known.Key == topKey(complaint.Key) || strings.HasPrefix(known.Key, topKey(complaint.Key)+".") ||
			strings.HasPrefix(known.Key, topKey(complaint.Key)+"[") {
			return true
		}
	}
	return false
}

// topKey is the path of an integration's own key: integrations[0].hmac of integrations[0].hmac.signed.
func topKey(path string) string {
	integration, rest, _ := strings.Cut(path, ".")
	key, _, _ := strings.Cut(rest, ".")
	key, _, _ = strings.Cut(key, "[")
	return integration + "." + key
}

func unreadable(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file; SIDECAR_CONFIG names the integrations file"
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return "cannot be read: " + pathError.Err.Error()
	}
	return "cannot be read: " + err.Error()
}

func (l *loader) integrations(m *mapping) []*Integration {
	elements := m.list("integrations")
	m.done()
	if m.node != nil && len(elements) == 0 {
		m.fail("integrations", "is missing or empty: nothing would be guarded")
	}
	integrations := make([]*Integration, 0, len(elements))
	for _, one := range elements {
		integrations = append(integrations, l.integration(one))
	}
	l.problems = append(l.problems, twins(integrations)...)
	l.problems = append(l.problems, overlaps(integrations)...)
	return integrations
}

// twins are integrations of one scope.
func twins(integrations []*Integration) Problems {
	var problems Problems
	first := map[string]*Integration{}
	for _, i := range integrations {
		if i.Scope == "" {
			continue
		}
		if other, twice := first[string(i.Scope)]; twice {
			problems = append(problems, i.at.problem("name",
				fmt.Sprintf("scope %s is used twice, first by %s on line %d", i.Scope, other.at.path, other.at.line)))
			continue
		}
		first[string(i.Scope)] = i
	}
	return problems
}

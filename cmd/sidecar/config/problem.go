package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong, or worth a warning. It never carries a secret.
type Problem struct {
	File string // empty for the environment
	Line int    // 0: of the file as a whole
	Key  string // path of the key inside the file, or the variable's name; may be empty
	Text string
}

// String is file:line: key: text, without the parts that are not known.
func (p Problem) String() string {
	var out strings.Builder
	switch {
	case p.File != "" && p.Line > 0:
		fmt.Fprintf(&out, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		fmt.Fprintf(&out, "%s: ", p.File)
	}
	if p.Key != "" {
		out.WriteString(p.Key + ": ")
	}
	out.WriteString(p.Text)
	return out.String()
}

// Problems is an error that lists everything that is wrong, one line each.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sort orders by file and line, and keeps the order within a line.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// err is nil where nothing is wrong, unlike a Problems in an error.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	p.sort()
	return p
}

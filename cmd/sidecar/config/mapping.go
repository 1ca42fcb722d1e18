package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// reader reads one YAML document strictly and gathers what is wrong with it.
type reader struct {
	file     string
	problems Problems
}

func (r *reader) fail(node *yaml.Node, key, format string, args ...any) {
	line := 0
	if node != nil {
		line = node.Line
	}
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// mapping is a YAML mapping whose keys are asked for one by one; what nobody has asked for at the end is unknown. An
// absent mapping has no keys, so that its readers give their fallbacks.
type mapping struct {
	reader *reader
	path   string
	node   *yaml.Node // nil: absent
	fields map[string]field
	asked  []string
}

type field struct{ key, value *yaml.Node }

// newMapping reads a node as a mapping. What is no mapping is reported and then treated as absent.
func (r *reader) newMapping(node *yaml.Node, path string) *mapping {
	m := &mapping{reader: r, path: path}
	if node == nil {
		return m
	}
	if node = r.resolve(node, path); node == nil {
		return m
	}
	if node.Kind != yaml.MappingNode {
		r.fail(node, path, "want keys and values, found %s", kindName(node))
		return m
	}
	m.node, m.fields = node, make(map[string]field, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		m.add(node.Content[i], node.Content[i+1])
	}
	return m
}

func (m *mapping) add(key, value *yaml.Node) {
	if key.Kind != yaml.ScalarNode {
		m.reader.fail(key, m.path, "a key must be a word, found %s", kindName(key))
		return
	}
	if first, twice := m.fields[key.Value]; twice {
		m.reader.fail(key, m.key(key.Value), "written twice, first on line %d", first.key.Line)
		return
	}
	m.fields[key.Value] = field{key, value}
}

// resolve follows an alias; nil means that a problem was reported.
func (r *reader) resolve(node *yaml.Node, path string) *yaml.Node {
	for range 8 {
		if node.Kind != yaml.AliasNode {
			return node
		}
		node = node.Alias
	}
	r.fail(node, path, "an alias of an alias of an alias")
	return nil
}

func (m *mapping) key(name string) string {
	if m.path == "" {
		return name
	}
	return m.path + "." + name
}

// take returns the value of a key, which is known from now on; nil where it is absent or has no value.
func (m *mapping) take(name string) *yaml.Node {
	m.asked = append(m.asked, name)
	found, ok := m.fields[name]
	if !ok {
		return nil
	}
	node := m.reader.resolve(found.value, m.key(name))
	if node != nil && node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		m.reader.fail(found.key, m.key(name), "has no value")
		return nil
	}
	return node
}

// has tells whether a key is written.
func (m *mapping) has(name string) bool {
	_, ok := m.fields[name]
	return ok
}

// at is the node that names a key, for the line of a problem: the key where it is written, else the whole mapping.
func (m *mapping) at(name string) *yaml.Node {
	if found, ok := m.fields[name]; ok {
		return found.key
	}
	return m.node
}

func (m *mapping) fail(name, format string, args ...any) {
	m.reader.fail(m.at(name), m.key(name), format, args...)
}

// done reports the keys that nobody has asked for.
func (m *mapping) done() {
	var names []string
	for name := range m.fields {
		if !slices.Contains(m.asked, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "<<" {
			m.fail(name, "merge keys are not supported")
			continue
		}
		m.fail(name, "unknown key%s", hint(name, m.asked))
	}
}

// section is the mapping under a key.
func (m *mapping) section(name string) *mapping {
	return m.reader.newMapping(m.take(name), m.key(name))
}

// list is the sequence under a key, with the path of each element.
func (m *mapping) list(name string) []element {
	node := m.take(name)
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		m.fail(name, "want a list, found %s", kindName(node))
		return nil
	}
	elements := make([]element, 0, len(node.Content))
	for i, content := range node.Content {
		path := fmt.Sprintf("%s[%d]", m.key(name), i)
		if resolved := m.reader.resolve(content, path); resolved != nil {
			elements = append(elements, element{resolved, path})
		}
	}
	return elements
}

// element is one entry of a sequence.
type element struct {
	node *yaml.Node
	path string
}

func kindName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "nothing"
		}
		return "a single value"
	default:
		return "something else"
	}
}

package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// shape is how a document is written, so that what is spliced in looks like what surrounds it.
type shape struct {
	compact bool   // lists stand in the column of their key
	ending  string // how lines end
}

// shape looks at the first list of a document. Without one, lists are compact, as most tools write them.
func (p *page) shape() shape {
	s := shape{compact: true, ending: p.newline}
	if key, list := firstList(p.root); list != nil {
		s.compact = list.Column <= key.Column
	}
	return s
}

func firstList(n *yaml.Node) (key, list *yaml.Node) {
	if n == nil || isFlow(n) {
		return nil, nil
	}
	for i, member := range n.Content {
		inMapping := n.Kind == yaml.MappingNode && i%2 == 1
		if inMapping && member.Kind == yaml.SequenceNode && !isFlow(member) {
			return n.Content[i-1], member
		}
		if key, list = firstList(member); list != nil {
			return key, list
		}
	}
	return nil, nil
}

// block writes a collection in block style, each line indented to a column. It ends with a line break.
func (s shape) block(n *yaml.Node, column int) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if s.compact {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(n); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		text.WriteString(strings.Repeat(" ", column) + strings.TrimSuffix(line, "\n") + s.ending)
	}
	return text.String(), nil
}

// jsonOf writes a node as JSON, keys in their order. With an indent it is spread over lines that begin with prefix.
func jsonOf(n *yaml.Node, prefix, indent string) (string, error) {
	var compact bytes.Buffer
	if err := writeJSON(&compact, n); err != nil {
		return "", err
	}
	if indent == "" {
		return compact.String(), nil
	}
	var spread bytes.Buffer
	if err := json.Indent(&spread, compact.Bytes(), prefix, indent); err != nil {
		return "", fmt.Errorf("indent: %w", err)
	}
	return spread.String(), nil
}

func writeJSON(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeMembers(out, n, "{", "}", 2)
	case yaml.SequenceNode:
		return writeMembers(out, n, "[", "]", 1)
	}
	return writeScalar(out, n)
}

func writeMembers(out *bytes.Buffer, n *yaml.Node, open, closing string, step int) error {
	out.WriteString(open)
	for i, member := range n.Content {
		switch {
		case step == 2 && i%2 == 1:
			out.WriteString(": ")
		case i > 0:
			out.WriteString(", ")
		}
		if err := writeJSON(out, member); err != nil {
			return err
		}
	}
	out.WriteString(closing)
	return nil
}

func writeScalar(out *bytes.Buffer, n *yaml.Node) error {
	var value any
	if err := n.Decode(&value); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	out.Truncate(out.Len() - 1) // the encoder's line break
	return nil
}

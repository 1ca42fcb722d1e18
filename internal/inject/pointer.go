package inject

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pointer is the way from an object's root to one of its nodes: JSON Pointer (RFC 6901), where a step into a list may be
// the item's name instead of its place, so that it still leads there when others have added items.
type pointer []string

func parsePointer(text string) pointer {
	if text == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps
}

func (p pointer) String() string {
	var text strings.Builder
	for _, step := range p {
		text.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return text.String()
}

// to extends a pointer without touching it.
func (p pointer) to(steps ...string) pointer { return slices.Concat(p, steps) }

func (p pointer) last() string { return p[len(p)-1] }

// errAlias refuses an edit that would show in two places.
var errAlias = errors.New("is written as a YAML alias or merged from one: write it out")

// errAbsent tells that a pointer leads nowhere.
var errAbsent = errors.New("does not exist")

// place is where a pointer leads: the collection, and the index of the item, or of the key in Content.
type place struct {
	parent *yaml.Node
	at     int
}

// value is the node that a pointer leads to.
func (l place) value() *yaml.Node {
	if l.parent.Kind == yaml.MappingNode {
		return l.parent.Content[l.at+1]
	}
	return l.parent.Content[l.at]
}

// locate follows a pointer, of at least one step, to a node that can be edited.
func locate(root *yaml.Node, p pointer) (place, error) {
	found := place{}
	for i, step := range p {
		at := stepInto(root, step)
		switch {
		case root.Kind == yaml.AliasNode || at < 0 && merges(root):
			return place{}, fmt.Errorf("%s %w", p[:i], errAlias)
		case at < 0:
			return place{}, fmt.Errorf("%s %w", p, errAbsent)
		}
		found = place{root, at}
		root = found.value()
	}
	if found.value().Kind == yaml.AliasNode {
		return place{}, fmt.Errorf("%s %w", p, errAlias)
	}
	return found, nil
}

// stepInto is the index in Content of the item or key that a step names, or -1.
func stepInto(n *yaml.Node, step string) int {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return i
			}
		}
		return -1
	}
	if n.Kind != yaml.SequenceNode {
		return -1
	}
	for i, item := range n.Content {
		if name := child(item, "name"); name != nil && name.Value == step {
			return i
		}
	}
	if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
		return i
	}
	return -1
}

func merges(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && stepInto(n, "<<") >= 0 }

// child follows keys to read, also through aliases and merges. It is nil where the way ends.
func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n = resolve(n); n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		at := stepInto(n, key)
		if at < 0 && merges(n) && key != "<<" {
			n = child(n.Content[stepInto(n, "<<")+1], key)
			continue
		}
		if at < 0 {
			return nil
		}
		n = n.Content[at+1]
	}
	return resolve(n)
}

func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// itemsOf are the items of a sequence, none where there is no sequence.
func itemsOf(n *yaml.Node) []*yaml.Node {
	if n = resolve(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]*yaml.Node, 0, len(n.Content))
	for _, item := range n.Content {
		items = append(items, resolve(item))
	}
	return items
}

// textOf is the value of a scalar, empty where there is none.
func textOf(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func isAbsentError(err error) bool { return errors.Is(err, errAbsent) }

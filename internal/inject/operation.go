package inject

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// operation is one change of an object. With add, a key of a mapping or an item of a list is new, and the pointer's last
// step is its name; else the value that the pointer leads to gives way to another.
type operation struct {
	at    pointer
	value *yaml.Node
	add   bool
}

// planner collects the operations on one object. What is at a pointer decides how it is written down: an item joins a list
// that is there, replaces an empty one, or brings a list of its own.
type planner struct {
	root       *yaml.Node
	operations []operation
}

// set replaces a value, or adds the key where it is not there.
func (p *planner) set(at pointer, value any) error {
	node, err := nodeOf(value)
	if err != nil {
		return err
	}
	_, err = locate(p.root, at)
	if isAbsentError(err) {
		p.operations = append(p.operations, operation{at, node, true})
		return nil
	}
	p.operations = append(p.operations, operation{at, node, false})
	return err
}

// insert adds named items to a list, or keys to a mapping.
func (p *planner) insert(at pointer, values ...named) error {
	found, err := locate(p.root, at)
	if err != nil && !isAbsentError(err) {
		return err
	}
	full := err == nil && len(found.value().Content) > 0
	if full {
		for _, one := range values {
			p.operations = append(p.operations, operation{at.to(one.name), one.node, true})
		}
		return nil
	}
	if err == nil && found.value().Kind == yaml.ScalarNode && found.value().Tag != "!!null" {
		return fmt.Errorf("%s is no list or mapping", at)
	}
	p.operations = append(p.operations, operation{at, collect(values), err != nil})
	return nil
}

// named is a value and its name in the collection that it joins.
type named struct {
	name string
	node *yaml.Node
	key  bool // of a mapping, else an item of a list
}

// collect makes a collection of its own.
func collect(values []named) *yaml.Node {
	if !values[0].key {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, one := range values {
			list.Content = append(list.Content, one.node)
		}
		return list
	}
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, one := range values {
		mapping.Content = append(mapping.Content, stringNode(one.name), one.node)
	}
	return mapping
}

// nodeOf makes a node of a value; structs keep the order of their fields.
func nodeOf(value any) (*yaml.Node, error) {
	if node, is := value.(*yaml.Node); is {
		return node, nil
	}
	node := &yaml.Node{}
	if err := node.Encode(value); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return node, nil
}

func stringNode(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	return node
}

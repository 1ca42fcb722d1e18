package verify

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxPointers bounds the pointers below one node, so that the scanner can mark the keys it has seen in one word.
const maxPointers = 64

// pointerTree holds JSON pointers (RFC 6901) so that one pass over a document finds all of them. Each pointer has a slot,
// the index of its value in what scan returns. It is built once and then only read.
type pointerTree struct {
	root  pointerNode
	slots int
	known map[string]int
}

type pointerNode struct {
	key      string
	index    int  // as an array index; -1 where the key is none
	any      bool // the key is *, which stands for every element of an array
	cut      bool // the place of the value is reported
	slots    []int
	children []*pointerNode
}

// add gives the slot of a pointer.
func (t *pointerTree) add(pointer string) (int, error) {
	if slot, found := t.known[pointer]; found {
		return slot, nil
	}
	node, err := t.node(pointer, false)
	if err != nil {
		return 0, err
	}
	if t.known == nil {
		t.known = map[string]int{}
	}
	slot := t.slots
	node.slots = append(node.slots, slot)
	t.known[pointer] = slot
	t.slots++
	return slot, nil
}

// cut makes scan report the places of all values that a pointer leads to. Here * stands for every element of an array.
func (t *pointerTree) cut(pointer string) error {
	node, err := t.node(pointer, true)
	if err == nil {
		node.cut = true
	}
	return err
}

func (t *pointerTree) node(pointer string, wild bool) (*pointerNode, error) {
	keys, err := splitPointer(pointer)
	if err != nil {
		return nil, err
	}
	node := &t.root
	for _, key := range keys {
		if node, err = node.child(key, wild); err != nil {
			return nil, err
		}
	}
	return node, nil
}

func (n *pointerNode) child(key string, wild bool) (*pointerNode, error) {
	for _, child := range n.children {
		if child.key == key {
			return child, nil
		}
	}
	if len(n.children) == maxPointers {
		return nil, fmt.Errorf("more than %d JSON pointers below one value", maxPointers)
	}
	for _, child := range n.children {
		if child.any && arrayIndex(key) >= 0 || wild && key == "*" && child.index >= 0 {
			return nil, errors.New("JSON pointers with * and with an index below the same array")
		}
	}
	child := &pointerNode{key: key, index: arrayIndex(key), any: wild && key == "*"}
	n.children = append(n.children, child)
	return child, nil
}

// splitPointer gives the keys of a pointer, unescaped. The pointer to the whole document is refused: no part of an event
// is a whole document.
func splitPointer(pointer string) ([]string, error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("JSON pointer %q does not begin with /", pointer)
	}
	keys := strings.Split(pointer[1:], "/")
	for i, key := range keys {
		unescaped, err := unescapeKey(key)
		if err != nil {
			return nil, fmt.Errorf("JSON pointer %q: %w", pointer, err)
		}
		keys[i] = unescaped
	}
	return keys, nil
}

func unescapeKey(key string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(key); i++ {
		if key[i] != '~' {
			out.WriteByte(key[i])
			continue
		}
		i++
		switch {
		case i < len(key) && key[i] == '0':
			out.WriteByte('~')
		case i < len(key) && key[i] == '1':
			out.WriteByte('/')
		default:
			return "", errors.New("~ must be followed by 0 or 1")
		}
	}
	return out.String(), nil
}

func arrayIndex(key string) int {
	index, err := strconv.Atoi(key)
	if err != nil || index < 0 || strconv.Itoa(index) != key {
		return -1
	}
	return index
}

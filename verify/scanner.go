package verify

import "bytes"

// scanner reads one document. Its methods are false where the document is broken.
type scanner struct {
	data  []byte
	at    int
	depth int
	found []jsonValue
	cuts  []span
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) next(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value reads one value. node is nil where no pointer leads.
func (s *scanner) value(node *pointerNode) bool {
	s.space()
	start := s.at
	kind := s.kind()
	if !s.body(kind, node) {
		return false
	}
	if node != nil {
		for _, slot := range node.slots {
			s.found[slot].kind, s.found[slot].raw = kind, s.data[start:s.at]
		}
		if node.cut {
			s.cuts = append(s.cuts, span{start, s.at})
		}
	}
	return true
}

func (s *scanner) kind() jsonKind {
	if s.at == len(s.data) {
		return absent
	}
	switch c := s.data[s.at]; {
	case c == '"':
		return text
	case c == '{':
		return object
	case c == '[':
		return array
	case c == '-' || '0' <= c && c <= '9':
		return number
	case c == 't' || c == 'f':
		return boolean
	case c == 'n':
		return null
	}
	return absent
}

func (s *scanner) body(kind jsonKind, node *pointerNode) bool {
	switch kind {
	case text:
		_, ok := s.text()
		return ok
	case number:
		return s.number()
	case object:
		return s.nested(node, s.object)
	case array:
		return s.nested(node, s.array)
	case boolean:
		return s.word("true") || s.word("false")
	case null:
		return s.word("null")
	}
	return false
}

func (s *scanner) word(word string) bool {
	if len(s.data)-s.at >= len(word) && string(s.data[s.at:s.at+len(word)]) == word {
		s.at += len(word)
		return true
	}
	return false
}

func (s *scanner) nested(node *pointerNode, read func(*pointerNode) bool) bool {
	if s.depth == maxDepth {
		return false
	}
	s.depth++
	s.at++
	ok := read(node)
	s.depth--
	return ok
}

func (s *scanner) object(node *pointerNode) bool {
	s.space()
	if s.next('}') {
		return true
	}
	var seen uint64
	for {
		s.space()
		key, ok := s.text()
		if !ok {
			return false
		}
		child := s.member(node, key, &seen)
		s.space()
		if !s.next(':') || !s.value(child) {
			return false
		}
		s.space()
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

// member gives the node of a key, and marks everything below as repeated where the key was seen before.
func (s *scanner) member(node *pointerNode, key []byte, seen *uint64) *pointerNode {
	if node == nil {
		return nil
	}
	for i, child := range node.children {
		if !sameKey(key, child.key) {
			continue
		}
		if *seen&(1<<i) != 0 {
			s.repeated(child)
		}
		*seen |= 1 << i
		return child
	}
	return nil
}

func sameKey(quoted []byte, key string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == key
	}
	decoded, err := decodeText(quoted)
	return err == nil && decoded == key
}

func (s *scanner) repeated(node *pointerNode) {
	for _, slot := range node.slots {
		s.found[slot].repeated = true
	}
	for _, child := range node.children {
		s.repeated(child)
	}
}

func (s *scanner) array(node *pointerNode) bool {
	s.space()
	if s.next(']') {
		return true
	}
	for index := 0; ; index++ {
		if !s.value(node.element(index)) {
			return false
		}
		s.space()
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

func (n *pointerNode) element(index int) *pointerNode {
	if n == nil {
		return nil
	}
	for _, child := range n.children {
		if child.index == index || child.any {
			return child
		}
	}
	return nil
}

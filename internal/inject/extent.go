package inject

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The parser tells where a node begins, not where it ends. These functions find the end, from the node's children where it
// has some.

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// isAbsent tells that a value is not written at all, as behind "volumes:".
func isAbsent(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&(quoted|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// end is the offset behind the last byte of a node that is written. column is the one of the block that the node is in: a
// literal text ends where a line is indented no more than that.
func (p *page) end(n *yaml.Node, column int) (int, error) {
	start, err := p.offset(n)
	if err != nil {
		return 0, err
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return start + 1 + len(n.Value), nil
	case n.Kind == yaml.ScalarNode:
		return p.scalarEnd(n, p.skipProperties(start), column)
	case isFlow(n):
		return p.flowEnd(n, p.skipProperties(start))
	case len(n.Content) == 0:
		return 0, p.lost(n)
	case n.Kind == yaml.MappingNode:
		last := len(n.Content) - 2
		return p.entryEnd(n.Content[last], n.Content[last+1], n.Content[last].Column-1)
	}
	return p.itemEnd(n, len(n.Content)-1)
}

// entryEnd is the end of a key and its value.
func (p *page) entryEnd(key, value *yaml.Node, column int) (int, error) {
	if !isAbsent(value) || value.Anchor != "" || value.Style&yaml.TaggedStyle != 0 {
		return p.end(value, column)
	}
	colon, err := p.colon(key)
	if err != nil { // {a}: a key without a colon
		return p.end(key, column)
	}
	return colon, nil
}

// colon is the offset behind the colon of a key.
func (p *page) colon(key *yaml.Node) (int, error) {
	at, err := p.end(key, key.Column-1)
	if err != nil {
		return 0, err
	}
	rest := strings.TrimLeft(p.text[at:], " \t")
	if !strings.HasPrefix(rest, ":") {
		return 0, p.lost(key)
	}
	return len(p.text) - len(rest) + 1, nil
}

// itemEnd is the end of an item of a sequence in block style.
func (p *page) itemEnd(sequence *yaml.Node, i int) (int, error) {
	item := sequence.Content[i]
	if !isAbsent(item) {
		return p.end(item, sequence.Column-1)
	}
	dash, err := p.dash(sequence, i)
	return dash + 1, err
}

// dash is the offset of the dash before an item of a sequence in block style.
func (p *page) dash(sequence *yaml.Node, i int) (int, error) {
	at, err := p.offset(sequence)
	if err != nil {
		return 0, err
	}
	if i == 0 && strings.HasPrefix(p.text[at:], "-") {
		return at, nil
	}
	if i == 0 {
		return 0, p.lost(sequence)
	}
	before, err := p.itemEnd(sequence, i-1)
	if err != nil {
		return 0, err
	}
	column := sequence.Column - 1
	if p.lineOf(before) != before || before == 0 { // a literal text ends at a line's beginning
		before = p.nextLine(before)
	}
	for at = before; at < len(p.text); at = p.nextLine(at) {
		if p.indentAt(at) == column && strings.HasPrefix(p.text[at+column:], "-") {
			return at + column, nil
		}
	}
	return 0, p.lost(sequence.Content[i])
}

// skipProperties moves over anchor and tag.
func (p *page) skipProperties(at int) int {
	for at < len(p.text) && (p.text[at] == '&' || p.text[at] == '!') {
		for at < len(p.text) && !strings.ContainsRune(" \t\r\n", rune(p.text[at])) {
			at++
		}
		at = p.skipSpace(at)
	}
	return at
}

// skipSpace moves over white space and comments.
func (p *page) skipSpace(at int) int {
	for at < len(p.text) {
		switch c := p.text[at]; {
		case c == ' ' || c == '\t' || breakAt(p.text, at) > 0:
			at += max(1, breakAt(p.text, at))
		case c == '#':
			at = p.nextLine(at)
		default:
			return at
		}
	}
	return at
}

// flowEnd is the end of a collection in braces or brackets.
func (p *page) flowEnd(n *yaml.Node, start int) (int, error) {
	if start >= len(p.text) || p.text[start] != '{' && p.text[start] != '[' {
		if n.Kind == yaml.MappingNode && len(n.Content) == 2 { // [a: b]: a pair without braces
			return p.entryEnd(n.Content[0], n.Content[1], 0)
		}
		return 0, p.lost(n)
	}
	at := start + 1
	if last := len(n.Content) - 1; last >= 0 {
		end, err := p.lastInFlow(n, last)
		if err != nil {
			return 0, err
		}
		at = end
	}
	at = p.skipSpace(at)
	if strings.HasPrefix(p.text[at:], ",") {
		at = p.skipSpace(at + 1)
	}
	if at >= len(p.text) || p.text[at] != p.text[start]+2 { // { and }, [ and ] are two apart
		return 0, p.lost(n)
	}
	return at + 1, nil
}

func (p *page) lastInFlow(n *yaml.Node, last int) (int, error) {
	if n.Kind == yaml.MappingNode {
		return p.entryEnd(n.Content[last-1], n.Content[last], 0)
	}
	return p.end(n.Content[last], 0)
}

func (p *page) scalarEnd(n *yaml.Node, start, column int) (int, error) {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return p.doubleEnd(n, start)
	case n.Style&yaml.SingleQuotedStyle != 0:
		return p.singleEnd(n, start)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return p.literalEnd(start, column), nil
	case isAbsent(n):
		return start, nil
	}
	return p.plainEnd(n, start)
}

func (p *page) doubleEnd(n *yaml.Node, start int) (int, error) {
	for at := start + 1; at < len(p.text); at++ {
		switch p.text[at] {
		case '\\':
			at++
		case '"':
			return at + 1, nil
		}
	}
	return 0, p.lost(n)
}

func (p *page) singleEnd(n *yaml.Node, start int) (int, error) {
	for at := start + 1; at < len(p.text); at++ {
		if p.text[at] != '\'' {
			continue
		}
		if at+1 == len(p.text) || p.text[at+1] != '\'' {
			return at + 1, nil
		}
		at++
	}
	return 0, p.lost(n)
}

// plainEnd follows the value through the text: only white space may differ, where the text is folded.
func (p *page) plainEnd(n *yaml.Node, start int) (int, error) {
	at := start
	for _, r := range n.Value {
		if unicode.IsSpace(r) {
			continue
		}
		for at < len(p.text) {
			found, width := utf8.DecodeRuneInString(p.text[at:])
			if !unicode.IsSpace(found) {
				break
			}
			at += width
		}
		if !strings.HasPrefix(p.text[at:], string(r)) {
			return 0, p.lost(n)
		}
		at += utf8.RuneLen(r)
	}
	return at, nil
}

// literalEnd is the end of a literal or folded text: the beginning of the line behind it. Empty lines at its end belong to
// it only where it says so with a plus.
func (p *page) literalEnd(start, column int) int {
	at := p.nextLine(start)
	keep := strings.Contains(strings.SplitN(p.text[start:at], "#", 2)[0], "+")
	end := at
	for at < len(p.text) {
		next := p.nextLine(at)
		blank := strings.TrimSpace(p.text[at:next]) == ""
		if !blank && p.indentAt(at) <= column {
			break
		}
		if !blank || keep {
			end = next
		}
		at = next
	}
	return end
}

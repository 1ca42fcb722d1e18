package inject

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// page is one document: its text, and the nodes in it. Positions of nodes are turned into offsets of the text.
type page struct {
	text    string
	root    *yaml.Node // of the document's content; nil where there is none
	lines   []int      // offset of each line
	newline string     // how lines end
}

// errTwoDocuments should not happen: split has cut the stream.
var errTwoDocuments = errors.New("more than one document where one was expected")

// newPage reads a chunk. A chunk that holds no document has no root.
func newPage(chunk string) (*page, error) {
	p := &page{text: chunk, lines: []int{0}, newline: "\n"}
	if isBlank(chunk) {
		return p, nil
	}
	if !utf8.ValidString(chunk) {
		return nil, errors.New("not UTF-8")
	}
	if strings.Contains(chunk, "\r\n") {
		p.newline = "\r\n"
	}
	if strings.HasPrefix(chunk, byteOrderMark) {
		p.lines[0] = len(byteOrderMark)
	}
	for at := range lineStarts(chunk) {
		p.lines = append(p.lines, at)
	}
	return p, p.parse()
}

func (p *page) parse() error {
	decoder := yaml.NewDecoder(strings.NewReader(p.text[p.lines[0]:]))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return errTwoDocuments
	}
	if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
		p.root = document.Content[0]
	}
	return nil
}

// offset is where a node begins, its anchor and tag included. Columns count characters.
func (p *page) offset(n *yaml.Node) (int, error) {
	if n.Line < 1 || n.Line > len(p.lines) {
		return 0, p.lost(n)
	}
	at := p.lines[n.Line-1]
	for range n.Column - 1 {
		_, width := utf8.DecodeRuneInString(p.text[at:])
		if width == 0 {
			return 0, p.lost(n)
		}
		at += width
	}
	return at, nil
}

// lost is the error of a node whose place in the text cannot be told. Nothing is changed then.
func (p *page) lost(n *yaml.Node) error {
	return fmt.Errorf("line %d: cannot tell where this begins or ends; write it in a plainer form", n.Line)
}

// lineOf is the offset at which the line of an offset begins.
func (p *page) lineOf(at int) int {
	begin := p.lines[0]
	for _, start := range p.lines {
		if start > at {
			break
		}
		begin = start
	}
	return begin
}

// nextLine is the offset of the line behind the one of an offset, or the end of the text.
func (p *page) nextLine(at int) int {
	for ; at < len(p.text); at++ {
		if width := breakAt(p.text, at); width > 0 {
			return at + width
		}
	}
	return at
}

// indentAt counts the spaces at an offset.
func (p *page) indentAt(at int) int {
	rest := p.text[at:]
	return len(rest) - len(strings.TrimLeft(rest, " "))
}

// isJSON tells that the document is written in braces, where only JSON may be spliced in.
func (p *page) isJSON() bool {
	return p.root != nil && p.root.Style&yaml.FlowStyle != 0
}

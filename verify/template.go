package verify

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// pieceKind is one part of what a sender signs.
type pieceKind uint8

const (
	literal pieceKind = iota
	pieceTimestamp
	pieceID
	pieceBody
	pieceURL
	pieceMethod
	pieceHeader
)

type piece struct {
	kind pieceKind
	text string // of a literal, or the header's canonical name
}

// template is what a sender signs, one piece after the other.
type template []piece

// parseTemplate reads "{timestamp}.{body}" and the like.
func parseTemplate(text string) (template, error) {
	var out template
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			out = append(out, piece{literal, before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errors.New("{ without }")
		}
		made, err := placeholder(name)
		if err != nil {
			return nil, err
		}
		out = append(out, made)
		text = after
	}
	return out, nil
}

func placeholder(name string) (piece, error) {
	switch name {
	case "timestamp":
		return piece{kind: pieceTimestamp}, nil
	case "id":
		return piece{kind: pieceID}, nil
	case "body":
		return piece{kind: pieceBody}, nil
	case "url":
		return piece{kind: pieceURL}, nil
	case "method":
		return piece{kind: pieceMethod}, nil
	}
	header, found := strings.CutPrefix(name, "header:")
	if !found || !validHeader(header) {
		return piece{}, fmt.Errorf("{%s} is none of timestamp, id, body, url, method, header:NAME", name)
	}
	return piece{pieceHeader, http.CanonicalHeaderKey(header)}, nil
}

// validHeader tells whether name is a token of RFC 9110.
func validHeader(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		alnum := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return true
}

func (t template) has(kind pieceKind) bool {
	for _, p := range t {
		if p.kind == kind {
			return true
		}
	}
	return false
}

func (t template) hasHeader(name string) bool {
	for _, p := range t {
		if p.kind == pieceHeader && p.text == name {
			return true
		}
	}
	return false
}

// open tells whether a piece is of any length and content, and read for its own sake. Bytes that can move between it and
// its neighbour would change its value under a valid signature.
func (p piece) open() bool { return p.kind == pieceID || p.kind == pieceHeader }

// stops are the separators that must not occur in the value of piece i, since the cut beside it would be ambiguous. A time
// as neighbour is a mark of its own, as it must be of one form and near the present.
func (t template) stops(i int) []string {
	var out []string
	if i >= 2 && t[i-1].kind == literal && t[i-2].kind != pieceTimestamp {
		out = append(out, t[i-1].text)
	}
	if i+2 < len(t) && t[i+1].kind == literal && t[i+2].kind != pieceTimestamp {
		out = append(out, t[i+1].text)
	}
	return out
}

// checkCuts finds an ID or a header directly beside something else of any length.
func (t template) checkCuts() error {
	for i := range len(t) - 1 {
		a, b := t[i], t[i+1]
		marked := a.kind == literal || b.kind == literal || a.kind == pieceTimestamp || b.kind == pieceTimestamp
		if (a.open() || b.open()) && !marked {
			return errors.New("an ID or a header needs a separator beside it, or bytes can move across the border unnoticed")
		}
	}
	return nil
}

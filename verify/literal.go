package verify

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

var errText = errors.New("not a string of Unicode characters")

// text passes over a JSON string and gives it with its quotes. It checks escapes and control characters, but not UTF-8.
func (s *scanner) text() ([]byte, bool) {
	start := s.at
	if !s.next('"') {
		return nil, false
	}
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch {
		case c == '"':
			return s.data[start:s.at], true
		case c < 0x20:
			return nil, false
		case c == '\\' && !s.escape():
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) escape() bool {
	if s.at == len(s.data) {
		return false
	}
	c := s.data[s.at]
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		_, ok := hex4(s.data[s.at:])
		s.at += 4
		return ok
	}
	return false
}

func (s *scanner) number() bool {
	s.next('-')
	if !s.next('0') && !s.digits() {
		return false
	}
	if s.next('.') && !s.digits() {
		return false
	}
	if s.next('e') || s.next('E') {
		if !s.next('+') {
			s.next('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.data) && '0' <= s.data[s.at] && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

// decodeText gives the value of a JSON string that text has passed over. Lone surrogates and invalid UTF-8 are errors:
// readers disagree about them.
func decodeText(quoted []byte) (string, error) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		if !utf8.Valid(inner) {
			return "", errText
		}
		return string(inner), nil
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); {
		if inner[i] != '\\' {
			out = append(out, inner[i])
			i++
			continue
		}
		char, size := unescape(inner[i:])
		if size == 0 {
			return "", errText
		}
		out = utf8.AppendRune(out, char)
		i += size
	}
	if !utf8.Valid(out) {
		return "", errText
	}
	return string(out), nil
}

// unescape reads one escape, or a pair of surrogates. Its size is 0 for a lone surrogate.
func unescape(in []byte) (rune, int) {
	if in[1] != 'u' {
		return shortEscape(in[1]), 2
	}
	first, ok := hex4(in[2:])
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if len(in) < 12 || in[6] != '\\' || in[7] != 'u' {
		return 0, 0
	}
	second, ok := hex4(in[8:])
	pair := utf16.DecodeRune(first, second)
	if !ok || pair == utf8.RuneError {
		return 0, 0
	}
	return pair, 12
}

func shortEscape(c byte) rune {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return rune(c)
}

func hex4(in []byte) (rune, bool) {
	if len(in) < 4 {
		return 0, false
	}
	var out rune
	for _, c := range in[:4] {
		digit, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		out = out<<4 | rune(digit)
	}
	return out, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// rewrite is another spelling of a JSON document.
type rewrite struct {
	body []byte
	why  string
}

// rewrites are other spellings of a JSON document: something may have decoded it and written it again.
func rewrites(body []byte) []rewrite {
	var compact bytes.Buffer
	if json.Compact(&compact, body) != nil {
		return nil
	}
	out := []rewrite{
		{compact.Bytes(), "were compact JSON: something wrote it again"},
		{indented(compact.Bytes(), "  "), "were JSON indented by two spaces: something wrote it again"},
		{indented(compact.Bytes(), "    "), "were JSON indented by four spaces: something wrote it again"},
		{indented(compact.Bytes(), "\t"), "were JSON indented by tabs: something wrote it again"},
		{spaced(compact.Bytes()), "were JSON with a space behind commas and colons: something wrote it again"},
	}
	for _, form := range slices.Clone(out) {
		out = append(out,
			rewrite{escapeRunes(form.body, "\\u%04x"), "were JSON with lower-case \\u escapes for what is not ASCII: something wrote it again"},
			rewrite{escapeRunes(form.body, "\\u%04X"), "were JSON with upper-case \\u escapes for what is not ASCII: something wrote it again"},
			rewrite{bytes.ReplaceAll(form.body, []byte("/"), []byte(`\/`)), "were JSON with escaped slashes: something wrote it again"},
			rewrite{bytes.ReplaceAll(escapeRunes(form.body, "\\u%04x"), []byte("/"), []byte(`\/`)),
				"were JSON with escaped slashes and \\u escapes: something wrote it again"},
			rewrite{bytes.ReplaceAll(form.body, []byte(`\/`), []byte("/")), "were JSON without escaped slashes: something wrote it again"})
	}
	return append(out, sortedRewrites(body)...)
}

func indented(compact []byte, by string) []byte {
	var out bytes.Buffer
	if json.Indent(&out, compact, "", by) != nil {
		return compact
	}
	return out.Bytes()
}

// sortedRewrites have their keys in order, as when a program decodes into maps.
func sortedRewrites(body []byte) []rewrite {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return nil
	}
	plain := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return []rewrite{
		{plain, "were JSON with sorted keys: something wrote it again"},
		{spaced(plain), "were JSON with sorted keys and spaces: something wrote it again"},
	}
}

// spaced puts a space behind the commas and colons between the values of compact JSON.
func spaced(compact []byte) []byte {
	var out []byte
	inside := false
	for i, c := range compact {
		out = append(out, c)
		switch {
		case c == '"' && !escaped(compact, i):
			inside = !inside
		case !inside && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

func escaped(text []byte, at int) bool {
	count := 0
	for at--; at >= 0 && text[at] == '\\'; at-- {
		count++
	}
	return count%2 == 1
}

func escapeRunes(text []byte, format string) []byte {
	var out []byte
	for _, char := range string(text) {
		switch {
		case char < utf8.RuneSelf:
			out = append(out, byte(char))
		case char > 0xffff:
			char -= 0x10000
			out = fmt.Appendf(out, format+format, 0xd800+char>>10, 0xdc00+char&0x3ff)
		default:
			out = fmt.Appendf(out, format, char)
		}
	}
	return out
}

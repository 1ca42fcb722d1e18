package verify

import (
	"strconv"
	"strings"
)

// The parts of Structured Fields (RFC 8941) that RFC 9421 and RFC 9530 need, read strictly.

// fieldItem is one member of a dictionary: an inner list of components, or a byte sequence.
type fieldItem struct {
	label      string
	components []component
	parameters map[string]string // strings unquoted, integers as written
	source     string            // the inner list with its parameters as received
	bytes      []byte
}

// component is one covered part of a message.
type component struct {
	name   string
	source string // as received, parameters included
	param  string // name of the query parameter, for @query-param
}

// fieldReader reads a header field's value.
type fieldReader struct {
	text string
	at   int
}

func (r *fieldReader) next(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *fieldReader) space() {
	for r.next(' ') || r.next('\t') {
		continue
	}
}

// key is a name in lower case.
func (r *fieldReader) key() (string, bool) {
	start := r.at
	for r.at < len(r.text) {
		c := r.text[r.at]
		letter := 'a' <= c && c <= 'z' || c == '*'
		if !letter && (r.at == start || strings.IndexByte("0123456789_-.", c) < 0) {
			break
		}
		r.at++
	}
	return r.text[start:r.at], r.at > start
}

// quoted is a string without escapes, which no name or parameter of the profile needs.
func (r *fieldReader) quoted() (string, bool) {
	if !r.next('"') {
		return "", false
	}
	start := r.at
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return r.text[start : r.at-1], true
		case c < 0x20 || c > 0x7e || c == '\\':
			return "", false
		}
		r.at++
	}
	return "", false
}

func (r *fieldReader) integer() (string, bool) {
	start := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		r.at++
	}
	return r.text[start:r.at], r.at > start && r.at-start <= 15
}

// dictionary reads "label=value, label=value" with at most maxSignatures members, each label once.
func dictionary(text string, member func(r *fieldReader, item *fieldItem) bool) ([]fieldItem, bool) {
	r := &fieldReader{text: text}
	var out []fieldItem
	seen := map[string]bool{}
	for r.space(); ; r.space() {
		label, ok := r.key()
		item := fieldItem{label: label}
		if !ok || seen[label] || !r.next('=') || len(out) == maxSignatures || !member(r, &item) {
			return nil, false
		}
		seen[label] = true
		out = append(out, item)
		r.space()
		if r.at == len(r.text) {
			return out, true
		}
		if !r.next(',') {
			return nil, false
		}
	}
}

// sequence reads a byte sequence, ":base64:".
func sequence(r *fieldReader, item *fieldItem) bool {
	if !r.next(':') {
		return false
	}
	end := strings.IndexByte(r.text[r.at:], ':')
	if end < 0 {
		return false
	}
	decoded, err := decodeBase64(r.text[r.at : r.at+end])
	item.bytes = decoded
	r.at += end + 1
	return err == nil
}

// innerList reads ("name" "name";param);param=value.
func innerList(r *fieldReader, item *fieldItem) bool {
	start := r.at
	if !r.next('(') {
		return false
	}
	for r.space(); !r.next(')'); r.space() {
		made, ok := r.component()
		if !ok || len(item.components) == 64 {
			return false
		}
		item.components = append(item.components, made)
	}
	item.parameters = map[string]string{}
	for r.next(';') {
		if !r.parameter(item.parameters) {
			return false
		}
	}
	item.source = r.text[start:r.at]
	return true
}

// component reads a quoted name. Only @query-param has a parameter in this profile.
func (r *fieldReader) component() (component, bool) {
	start := r.at
	name, ok := r.quoted()
	if !ok || name == "" || name != strings.ToLower(name) {
		return component{}, false
	}
	out := component{name: name}
	if r.next(';') {
		key, _ := r.key()
		if name != "@query-param" || key != "name" || !r.next('=') {
			return out, false
		}
		if out.param, ok = r.quoted(); !ok {
			return out, false
		}
	}
	if name == "@query-param" && out.param == "" {
		return out, false
	}
	out.source = r.text[start:r.at]
	return out, true
}

func (r *fieldReader) parameter(into map[string]string) bool {
	key, ok := r.key()
	if _, twice := into[key]; !ok || twice || !r.next('=') {
		return false
	}
	value, ok := r.quoted()
	if !ok && r.at < len(r.text) && r.text[r.at] != '"' {
		value, ok = r.integer()
	}
	into[key] = value
	return ok
}

// seconds is an integer parameter.
func (i fieldItem) seconds(name string) (int64, bool) {
	value, err := strconv.ParseInt(i.parameters[name], 10, 64)
	return value, err == nil
}

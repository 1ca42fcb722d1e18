package proxy

import (
	"strings"
	"unicode/utf8"
)

// readingBudget bounds the work on one hostile path: the bytes of all its readings together.
const readingBudget = 128 << 10

// rewrites are the single steps by which applications, frameworks and the servers before them turn one spelling of a
// path into another. A reading is what any sequence of them leads to. Letter case and empty segments are left to keyOf,
// because no step depends on them in a way that hides a hit, except for dot segments, for which mergeSlashes is here.
func rewrites() []func(string) string {
	return []func(string) string{
		decodeEscapes, decodeUnreserved, decodeExotic,
		slashBackslashes, stripParameters, dropControls, dropNULs, cutAtControl, cutAtDelimiter, trimSpaces,
		mergeSlashes, removeDots, stripAuthority,
	}
}

// eachReading calls visit for path and everything the rewrites make of it, each once, until visit returns false. It
// returns false when the budget of bytes is used up before all readings were seen.
func eachReading(path string, budget int, visit func(string) bool) bool {
	steps := rewrites()
	seen := map[string]struct{}{path: {}}
	for queue := []string{path}; len(queue) > 0; queue = queue[1:] {
		if !visit(queue[0]) {
			return true
		}
		for _, step := range steps {
			next := step(queue[0])
			if _, known := seen[next]; known {
				continue
			}
			if budget -= len(next) + 16; budget < 0 {
				return false
			}
			seen[next] = struct{}{}
			queue = append(queue, next)
		}
	}
	return true
}

// keysOf returns the keys of all readings of a configured path, which is no hostile one.
func keysOf(path string) []string {
	var keys []string
	eachReading(path, 16*readingBudget, func(reading string) bool {
		keys = append(keys, keyOf(reading))
		return true
	})
	return keys
}

// keyOf is a reading in the form in which readings are compared: folded, without empty segments and trailing slash.
func keyOf(reading string) string {
	var key strings.Builder
	key.Grow(len(reading) + 1)
	for segment := range strings.SplitSeq(reading, "/") {
		if segment != "" {
			key.WriteByte('/')
			key.WriteString(segment)
		}
	}
	return fold(key.String())
}

// fold makes letters equal that differ by case only, the long s included, which has no lower case of its own.
func fold(text string) string {
	return strings.ReplaceAll(strings.ToLower(text), "ſ", "s")
}

// isPlain tells whether path has no other reading than itself, apart from letter case and a trailing slash.
func isPlain(path string) bool {
	previous := byte(0)
	for i := range len(path) {
		c := path[i]
		switch {
		case i == 0 && c != '/', c <= ' ', c >= 0x7f:
			return false
		case c == '%', c == '\\', c == ';', c == '#':
			return false
		case previous == '/' && (c == '/' || c == '.'):
			return false
		}
		previous = c
	}
	return path != ""
}

// plainKey is keyOf for a plain path, without building anything in the usual case.
func plainKey(path string) string {
	return strings.ToLower(strings.TrimSuffix(path, "/"))
}

// decodeEscapes resolves every percent escape once and leaves broken ones as they are.
func decodeEscapes(path string) string {
	return decodeIf(path, func(byte) bool { return true })
}

// decodeUnreserved resolves what means the same escaped and not (RFC 3986, 2.3), as an application does that keeps an
// encoded slash apart from a real one.
func decodeUnreserved(path string) string {
	return decodeIf(path, isUnreserved)
}

func decodeIf(path string, wanted func(byte) bool) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' {
			if code, ok := hexCode(path, i+1, 2); ok && wanted(byte(code)) {
				c = byte(code)
				i += 2
			}
		}
		out = append(out, c)
	}
	return string(out)
}

func isUnreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}

// hexCode reads size hex digits at path[at:].
func hexCode(path string, at, size int) (code rune, ok bool) {
	if at+size > len(path) {
		return 0, false
	}
	for i := at; i < at+size; i++ {
		digit := strings.IndexByte("0123456789abcdef", lower(path[i]))
		if digit < 0 {
			return 0, false
		}
		code = code<<4 | rune(digit)
	}
	return code, true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// decodeExotic resolves what lenient decoders take for ASCII: overlong UTF-8, full-width forms and %uXXXX.
func decodeExotic(path string) string {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); {
		code, size := exoticAt(path, i)
		if size == 0 {
			code, size = rune(path[i]), 1
		}
		if size == 1 || code < utf8.RuneSelf {
			out = append(out, byte(code))
		} else {
			out = utf8.AppendRune(out, code)
		}
		i += size
	}
	return string(out)
}

// exoticAt reads one exotic spelling of a character; size 0 means there is none.
func exoticAt(path string, at int) (code rune, size int) {
	rest := path[at:]
	if rest[0] == '%' && len(rest) >= 6 && lower(rest[1]) == 'u' {
		if code, ok := hexCode(path, at+2, 4); ok {
			return narrow(code), 6
		}
	}
	if code, size = overlong(rest); size > 0 {
		return code, size
	}
	if code, size = utf8.DecodeRuneInString(rest); size > 1 && narrow(code) != code {
		return narrow(code), size
	}
	return 0, 0
}

// overlong reads an ASCII character that is written with two to four bytes.
func overlong(text string) (code rune, size int) {
	switch c := text[0]; {
	case c == 0xc0 || c == 0xc1:
		code, size = rune(c&0x1f), 2
	case c == 0xe0:
		size = 3
	case c == 0xf0:
		size = 4
	}
	if size > len(text) {
		return 0, 0
	}
	for i := 1; i < size; i++ {
		if text[i]&0xc0 != 0x80 {
			return 0, 0
		}
		code = code<<6 | rune(text[i]&0x3f)
	}
	if code >= utf8.RuneSelf {
		return 0, 0
	}
	return code, size
}

// narrow maps full-width forms and the look-alikes of a slash to ASCII.
func narrow(code rune) rune {
	switch {
	case 0xff01 <= code && code <= 0xff5e:
		return code - 0xff01 + '!'
	case code == 0x2044 || code == 0x2215:
		return '/'
	}
	return code
}

func slashBackslashes(path string) string { return strings.ReplaceAll(path, `\`, "/") }

func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// dropControls removes control bytes except NUL, at which some applications end a path.
func dropControls(path string) string {
	return dropIf(path, func(c byte) bool { return c != 0 && isControl(c) })
}

func dropNULs(path string) string { return strings.ReplaceAll(path, "\x00", "") }

func dropIf(path string, unwanted func(byte) bool) string {
	kept := make([]byte, 0, len(path))
	for i := range len(path) {
		if !unwanted(path[i]) {
			kept = append(kept, path[i])
		}
	}
	return string(kept)
}

func cutAtControl(path string) string {
	for i := range len(path) {
		if isControl(path[i]) {
			return path[:i]
		}
	}
	return path
}

// cutAtDelimiter drops a fragment, or a query whose question mark was encoded.
func cutAtDelimiter(path string) string {
	if end := strings.IndexAny(path, "#?"); end >= 0 {
		return path[:end]
	}
	return path
}

func stripParameters(path string) string {
	return mapSegments(path, ";", func(segment string) string {
		name, _, _ := strings.Cut(segment, ";")
		return name
	})
}

func trimSpaces(path string) string {
	return mapSegments(path, " ", func(segment string) string { return strings.TrimRight(segment, " ") })
}

// mapSegments rewrites each segment of a path that has the mark at all.
func mapSegments(path, mark string, rewrite func(string) string) string {
	if !strings.Contains(path, mark) {
		return path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i] = rewrite(segment)
	}
	return strings.Join(segments, "/")
}

func mergeSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// removeDots resolves "." and "..", and an empty segment counts as one; mergeSlashes makes the other reading.
func removeDots(path string) string {
	if !strings.Contains(path, "/.") && !strings.HasPrefix(path, ".") {
		return path
	}
	var kept []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch segment {
		case ".":
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		default:
			kept = append(kept, segment)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// stripAuthority removes what precedes the path of an absolute-form target, and of "//host/path".
func stripAuthority(path string) string {
	rest := path[schemeEnd(path):]
	authority, found := strings.CutPrefix(rest, "//")
	if !found {
		return rest
	}
	if slash := strings.IndexByte(authority, '/'); slash >= 0 {
		return authority[slash:]
	}
	return ""
}

// schemeEnd is the length of a leading "scheme:", or 0.
func schemeEnd(path string) int {
	for i := range len(path) {
		switch c := lower(path[i]); {
		case c == ':':
			return i + 1
		case 'a' <= c && c <= 'z', i > 0 && '0' <= c && c <= '9', i > 0 && strings.IndexByte("+-.", c) >= 0:
		default:
			return 0
		}
	}
	return 0
}

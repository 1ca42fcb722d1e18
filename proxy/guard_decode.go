package proxy

import (
	"strings"
	"unicode/utf8"
)

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

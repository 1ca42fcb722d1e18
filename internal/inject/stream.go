package inject

import (
	"strings"
)

// byteOrderMark may stand at the beginning of a stream.
const byteOrderMark = "\uFEFF"

// split cuts a stream into chunks of at most one document each. Joined they are the stream again. A marker of YAML at the
// beginning of a line ends a document wherever it stands, also inside a quoted or a literal text.
func split(stream string) []string {
	var chunks []string
	start := 0
	for at := range lineStarts(stream) {
		if at == start || !isMarker(stream, at, "---") && !endsDocument(stream, at) {
			continue
		}
		chunks = append(chunks, stream[start:at])
		start = at
	}
	return append(chunks, stream[start:])
}

// lineStarts yields the offset of every line but the first, as YAML counts lines.
func lineStarts(text string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; at < len(text); {
			width := breakAt(text, at)
			if width == 0 {
				at++
				continue
			}
			at += width
			if !yield(at) {
				return
			}
		}
	}
}

// breakAt is the width of the line break at an offset, 0: there is none. These five are what the parser takes for one.
func breakAt(text string, at int) int {
	rest := text[at:]
	for _, one := range []string{"\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if strings.HasPrefix(rest, one) {
			return len(one)
		}
	}
	return 0
}

// isMarker tells whether a line that begins at an offset is a document marker.
func isMarker(text string, at int, marker string) bool {
	rest := text[at:]
	if !strings.HasPrefix(rest, marker) {
		return false
	}
	at += len(marker)
	return at == len(text) || text[at] == ' ' || text[at] == '\t' || breakAt(text, at) > 0
}

// endsDocument tells whether the line before an offset is the marker "...".
func endsDocument(text string, at int) bool {
	before := strings.TrimRight(text[:at], "\r\n\u0085\u2028\u2029")
	line := before[lastLine(before):]
	return isMarker(line, 0, "...")
}

// lastLine is the offset at which the last line of a text begins.
func lastLine(text string) int {
	begin := 0
	for at := len(text) - 1; at >= 0; at-- {
		if width := breakAt(text, at); width > 0 {
			begin = at + width
			break
		}
	}
	return begin
}

// isBlank tells that a chunk holds no document: comments, directives, markers and white space only.
func isBlank(chunk string) bool {
	for line := range strings.SplitSeq(strings.TrimPrefix(chunk, byteOrderMark), "\n") {
		line = strings.TrimRight(line, " \t\r")
		rest, marked := strings.CutPrefix(line, "---")
		if marked {
			line = strings.TrimLeft(rest, " \t")
		}
		plain := strings.TrimLeft(line, " \t")
		if plain != "" && plain[0] != '#' && line[0] != '%' && line != "..." {
			return false
		}
	}
	return true
}

package proxy

import "strings"

// readingBudget bounds the work on one hostile path: the bytes of all its readings together.
const readingBudget = 128 << 10

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

// fold makes letters equal that differ by case only, in either direction: the long s and the dotless i have no other
// lower case, but the upper case of s and i.
func fold(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(text), "ſ", "s"), "ı", "i")
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

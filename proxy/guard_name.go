package proxy

import (
	"slices"
	"strings"
)

// maxDecodings bounds how often a path is decoded in search of guarded names. Nobody decodes more often than that.
const maxDecodings = 16

// nameSet holds the last segments of all guarded paths. A path in which none of them begins a segment has no guarded
// reading, which spares nearly every odd path the search through its readings.
type nameSet struct {
	names   map[string]struct{}
	lengths []int // of the names, each once
	any     bool  // a guarded path has no segment: every path may read as it
}

func newNameSet() nameSet { return nameSet{names: make(map[string]struct{})} }

func (s *nameSet) add(key string) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	if name == "" {
		s.any = true
		return
	}
	s.names[name] = struct{}{}
	if !slices.Contains(s.lengths, len(name)) {
		s.lengths = append(s.lengths, len(name))
	}
}

// occurIn looks at the most decoded form of path. Every rewrite removes whole ends of segments, whole segments, or
// bytes that are removed here too, so that the last segment of a reading still stands there behind a delimiter.
func (s *nameSet) occurIn(path string) bool {
	if s.any {
		return true
	}
	decoded := mostDecoded(path)
	for start := 0; start < len(decoded); {
		if s.beginsWithName(decoded[start:]) {
			return true
		}
		next := strings.IndexAny(decoded[start:], `/\:`)
		if next < 0 {
			return false
		}
		start += next + 1
	}
	return false
}

func (s *nameSet) beginsWithName(text string) bool {
	for _, length := range s.lengths {
		if length > len(text) {
			continue
		}
		if _, found := s.names[text[:length]]; found {
			return true
		}
	}
	return false
}

func mostDecoded(path string) string {
	for range maxDecodings {
		next := dropIf(decodeExotic(decodeEscapes(path)), isControl)
		if next == path {
			break
		}
		path = next
	}
	return fold(path)
}

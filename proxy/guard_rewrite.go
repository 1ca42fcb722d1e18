package proxy

import "strings"

// rewrites are the single steps by which applications, frameworks and the servers before them turn one spelling of a
// path into another. A reading is what any sequence of them leads to. Letter case and empty segments are left to keyOf,
// because no step depends on them in a way that hides a hit, except for dot segments, for which mergeSlashes is here.
func rewrites() []func(string) string {
	return []func(string) string{
		decodeEscapes, decodeUnreserved, decodeExotic,
		slashBackslashes, stripParameters, dropControls, dropNULs, cutAtControl, cutAtDelimiter, trimSpaces,
		mergeSlashes, removeDots, stripAuthority, stripInner,
	}
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

// stripInner does the same where the URL stands further back, or behind what is no scheme: some find it by its "://".
func stripInner(path string) string {
	_, rest, found := strings.Cut(path, "://")
	if !found {
		return path
	}
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		return rest[slash:]
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

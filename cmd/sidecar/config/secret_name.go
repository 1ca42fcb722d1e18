package config

import (
	"regexp"
	"strings"
)

var (
	hexDigits = regexp.MustCompile(`[0-9a-fA-F]{32}`)
	// encoded is base64 in either alphabet, perhaps behind a prefix of the sender's.
	encoded = regexp.MustCompile(`^[0-9A-Za-z+/_-]*=*$`)
)

const (
	keyDigits   = 43 // of 32 bytes in base64
	fewestChars = 22 // of 16 bytes
)

// MayBeSecret tells that a text that should name a file may be the secret that the file should have: somebody has mistaken
// the one for the other, and no error may quote it. Few names look so, and most secrets do.
func MayBeSecret(name string) bool {
	if strings.ContainsAny(name, "\r\n") || hexDigits.MatchString(name) {
		return true
	}
	last := name[strings.LastIndexByte(name, ':')+1:] // of a line of tokens
	if !encoded.MatchString(last) {
		return false
	}
	digits := strings.TrimRight(last, "=")
	switch {
	case len(digits) == keyDigits, len(digits) < len(last):
		return true
	case strings.HasPrefix(name, "/"):
		return false
	}
	return len(digits) >= fewestChars && strings.ContainsAny(digits, "0123456789") &&
		strings.ToLower(digits) != digits && strings.ToUpper(digits) != digits
}

// NoName is what to say of such a name.
const NoName = "what should name a file names none that can be read, and is not shown because it may be the secret itself: " +
	"write that into a file, and give its name"

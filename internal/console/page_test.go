package console

import (
	"strings"
	"testing"
)

// What a person reads of an event ID can be given to the next command; what would move the cursor or hide is escaped.
func TestWhatIsPrintedIsWhatItIs(t *testing.T) {
	var id strings.Builder
	for c := byte(0x21); c <= 0x7e; c++ {
		id.WriteByte(c)
	}
	for _, text := range []string{id.String(), `a"b`, `a\b`, "two words", ""} {
		if got := printable(text); got != text {
			t.Errorf("%q is printed as %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"a\x1b[2Jb": `a\x1b[2Jb`, "a\nb": `a\nb`, "é": `\u00e9`, "\u202eb": `\u202eb`, "\xff": `\xff`, "\x7f": `\x7f`, "\"\t": `\"\t`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is printed as %s, want %s", text, got, want)
		}
	}
}

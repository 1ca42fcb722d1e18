package dedupe

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The reasons are a closed set, and docs/states.md has each of them, with the states that it stands in.
func TestDocumentedReasonsAreTheReasons(t *testing.T) {
	source, err := os.ReadFile("state.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Reasons\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var coded, documented []string
	for _, found := range regexp.MustCompile(`Reason += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		coded = append(coded, found[1])
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, name[1])
		}
		for name := range strings.SplitSeq(row[2], ",") {
			if _, is := ParseState(strings.TrimSpace(name)); !is {
				t.Errorf("%s stands in the state %q, which is none", row[1], name)
			}
		}
	}
	slices.Sort(coded)
	slices.Sort(documented)
	if len(coded) < 15 || !slices.Equal(coded, documented) {
		t.Errorf("the reasons are %q, and docs/states.md has %q", coded, documented)
	}
}

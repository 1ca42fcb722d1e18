package charts

import (
	"os"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// The differences and reports in docs/attach.md are what the tool prints.
func TestDocsShowWhatInjectDoes(t *testing.T) {
	before := rendered(t, "examples/app", "{}")
	options := inject.Defaults()
	options.Workloads = []string{"deploy/app"}
	result, err := inject.Inject([]byte(before), options)
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	for _, note := range result.Notes {
		report.WriteString(note.String() + "\n")
	}
	page, err := os.ReadFile("../../docs/attach.md")
	if err != nil {
		t.Fatal(err)
	}
	text := between(t, string(page), "diff", "```diff\n"+inject.Diff("before", "after", before, string(result.Output))+"```\n")
	text = between(t, text, "report", "```\n"+report.String()+"```\n")
	golden(t, "../../docs/attach.md", text)
}

// between puts a text between the two marks of a page.
func between(t *testing.T, page, mark, text string) string {
	t.Helper()
	head, rest, found := strings.Cut(page, "<!-- begin "+mark+" -->\n")
	_, tail, closed := strings.Cut(rest, "<!-- end "+mark+" -->")
	if !found || !closed {
		t.Fatalf("no marks %s", mark)
	}
	return head + "<!-- begin " + mark + " -->\n" + text + "<!-- end " + mark + " -->" + tail
}

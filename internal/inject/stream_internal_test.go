package inject

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzSplit demands that the chunks are the stream, and that each holds at most one document of those that the parser sees.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", "a: b", "---\na: b\n---\nc: d\n", "--- {a: b}\n--- |\n text\n--- # comment\n...\n# nothing\n---\n", "a: |\n  ---\n ---\n---x\n",
		"\ufeff---\r\na: 'b\r\n c'\r\n---\r\n", "a: b\n...\nc: d\n...\n%YAML 1.1\n---\ne: f\n", "a: \"\n---\n\"\n", "a\u0085---\u2028b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		chunks := split(stream)
		if strings.Join(chunks, "") != stream {
			t.Fatalf("%q became %q", stream, chunks)
		}
		for _, chunk := range chunks {
			if _, err := newPage(chunk); errors.Is(err, errTwoDocuments) && parses(chunk) {
				t.Errorf("%q of %q holds two documents", chunk, stream)
			}
		}
	})
}

func parses(chunk string) bool {
	decoder := yaml.NewDecoder(strings.NewReader(chunk))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

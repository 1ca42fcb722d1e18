package inject_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// FuzzInject demands of any input: no panic, either an error without output or a result from which the way back is exact,
// and documents that have nothing to do with the workload are still there, byte for byte.
func FuzzInject(f *testing.F) {
	inputs, err := filepath.Glob("testdata/shapes/*/in.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range inputs {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte("a: |\n  ---\n---\n%YAML 1.1\n--- |\n text\n...\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		const bystander = "# nobody's\napiVersion: v1 \nkind:   ConfigMap\ndata: {\"a\": 'b' } # end\n"
		stream := []byte(bystander + "---\n" + strings.TrimSuffix(string(input), "\n") + "\n---\n" + bystander)
		options := inject.Defaults()
		options.Selector = "app=web"
		options.Workloads = firstWorkload(input)
		options.Clean = false
		result, err := inject.Inject(stream, options)
		if err != nil {
			if result.Output != nil {
				t.Fatal("there is output beside the error")
			}
			return
		}
		if !bytes.HasPrefix(result.Output, []byte(bystander)) || !bytes.HasSuffix(result.Output, []byte(bystander)) {
			t.Errorf("a document that nobody meant was changed:\n%s", inject.Diff("before", "after", string(stream), string(result.Output)))
		}
		back, err := inject.Uninject(result.Output)
		if err != nil {
			t.Fatal(err)
		}
		clean, err := inject.Uninject(stream)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(back.Output, clean.Output) {
			t.Errorf("the way back is not exact:\n%s", inject.Diff("before", "back", string(clean.Output), string(back.Output)))
		}
	})
}

// firstWorkload selects the deployment that the seeds have, whatever it is called.
func firstWorkload(input []byte) []string {
	for _, name := range []string{"web", "shop", "api", "notes", "mail", "books", "cart"} {
		if bytes.Contains(input, []byte("name: "+name)) {
			return []string{"deploy/" + name}
		}
	}
	return nil
}

// FuzzUninject demands that the way back never panics, and leaves alone what was not injected.
func FuzzUninject(f *testing.F) {
	outputs, err := filepath.Glob("testdata/shapes/*/out.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range outputs {
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		result, err := inject.Uninject(input)
		if err == nil && result.Changed == 0 && !bytes.Equal(result.Output, input) {
			t.Errorf("changed without a record:\n%s", inject.Diff("before", "after", string(input), string(result.Output)))
		}
	})
}

package inject_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shape is a manifest in a form that other people's charts have, and what becomes of it. args holds the flags.
type shape struct {
	dir     string
	input   []byte
	options inject.Options
}

func shapes(t *testing.T) []shape {
	t.Helper()
	dirs, err := filepath.Glob("testdata/shapes/*")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d shapes, %v", len(dirs), err)
	}
	var found []shape
	for _, dir := range dirs {
		s := shape{dir: dir, options: inject.Defaults()}
		inputs, _ := filepath.Glob(filepath.Join(dir, "in.*"))
		s.input = read(t, inputs[0])
		set := flag.NewFlagSet(dir, flag.ContinueOnError)
		s.options.Bind(set)
		if err := set.Parse(strings.Fields(string(read(t, filepath.Join(dir, "args"))))); err != nil {
			t.Fatal(err)
		}
		found = append(found, s)
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := read(t, path); !bytes.Equal(got, want) {
		t.Errorf("%s differs; run the test with -update and look at the change:\n%s", path, inject.Diff("want", "got", string(want), string(got)))
	}
}

func TestShapes(t *testing.T) {
	for _, s := range shapes(t) {
		t.Run(filepath.Base(s.dir), func(t *testing.T) {
			result, err := inject.Inject(s.input, s.options)
			var report strings.Builder
			for _, note := range result.Notes {
				report.WriteString(note.String() + "\n")
			}
			if err != nil {
				report.WriteString("error: " + err.Error() + "\n")
			}
			golden(t, filepath.Join(s.dir, "report.txt"), []byte(report.String()))
			if err != nil {
				if result.Output != nil {
					t.Error("there is output beside the error")
				}
				return
			}
			inputs, _ := filepath.Glob(filepath.Join(s.dir, "in.*"))
			golden(t, filepath.Join(s.dir, "out"+filepath.Ext(inputs[0])), result.Output)
			thereAndBack(t, s.input, result.Output, s.options)
		})
	}
}

// thereAndBack demands that the way back is exact, and that a second injection changes nothing.
func thereAndBack(t interface {
	Errorf(string, ...any)
	Fatal(...any)
}, input, output []byte, options inject.Options) {
	back, err := inject.Uninject(output)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Output, input) {
		t.Errorf("the way back is not exact:\n%s", inject.Diff("input", "back", string(input), string(back.Output)))
	}
	again, err := inject.Inject(output, options)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Output, output) {
		t.Errorf("a second injection changes:\n%s", inject.Diff("once", "twice", string(output), string(again.Output)))
	}
	found, err := inject.Check(output, options)
	if err != nil || len(found.Open) > 0 {
		t.Errorf("ways round are open: %v, %v", found.Open, err)
	}
}

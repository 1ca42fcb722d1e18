package charts

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigs "sigs.k8s.io/yaml"
)

const root = "../../charts/"

// values are given in YAML, as people write them.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	found := map[string]any{}
	if err := sigs.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// render renders a chart as Helm does for an installation, the schema's check included.
func render(dir string, values map[string]any) (string, error) {
	chart, err := loader.LoadDir(root + dir)
	if err != nil {
		return "", err
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return "", err
	}
	release := chartutil.ReleaseOptions{Name: "app", Namespace: "shop", Revision: 1, IsInstall: true}
	merged, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, merged)
	if err != nil {
		return "", err
	}
	var names []string
	for name := range files {
		if ext := path.Ext(name); ext == ".yaml" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		if strings.TrimSpace(files[name]) != "" {
			out.WriteString("---\n# Source: " + name + "\n" + strings.TrimRight(files[name], "\n") + "\n")
		}
	}
	return out.String(), nil
}

func rendered(t *testing.T, dir, text string) string {
	t.Helper()
	out, err := render(dir, values(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documents cuts a stream as kubectl does. Documents without content are left out.
func documents(t *testing.T, stream []byte) [][]byte {
	t.Helper()
	reader := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(stream)))
	var all [][]byte
	for {
		buffer := make([]byte, 1<<20)
		n, err := reader.Read(buffer)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content := map[string]any{}
		if err := sigs.Unmarshal(buffer[:n], &content); err != nil {
			t.Fatalf("%v in\n%s", err, buffer[:n])
		}
		if len(content) > 0 {
			all = append(all, buffer[:n])
		}
	}
}

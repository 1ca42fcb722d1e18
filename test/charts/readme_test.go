package charts

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the generated files anew")

// golden compares a generated file with what it should be.
func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != want {
		t.Errorf("%s is out of date (%v); run this test with -update", path, err)
	}
}

const readme = `# sidecar

What webhook-sidecar needs outside the pods that it is injected into: the integrations, the secrets, a NetworkPolicy, and on
demand a PodMonitor, alerts and a migration job. The container itself comes from ` + "`sidecar inject`" + ` or from the library chart
sidecar-lib; see [docs/attach.md](../../docs/attach.md).

` + "```" + `
helm upgrade --install app-sidecar charts/sidecar -f charts/examples/values-sidecar.yaml
helm test app-sidecar
` + "```" + `

The table is generated from values.yaml: ` + "`go -C test/charts test -run Readme -update`" + `.

| value | default | meaning |
| --- | --- | --- |
`

// The README's table is the comments of values.yaml.
func TestReadmeIsGenerated(t *testing.T) {
	content, err := os.ReadFile(root + "sidecar/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString(readme)
	table(t, &out, "", document.Content[0])
	golden(t, root+"sidecar/README.md", out.String())
}

func table(t *testing.T, out *strings.Builder, prefix string, mapping *yaml.Node) {
	t.Helper()
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		comment := strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(key.HeadComment, "\n# ", " "), "# -- ", ""))
		if comment == "" && value.Kind == yaml.MappingNode {
			table(t, out, name+".", value)
			continue
		}
		if comment == "" {
			t.Errorf("%s says nothing about itself", name)
		}
		var decoded any
		if err := value.Decode(&decoded); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(decoded)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("| `" + name + "` | `" + string(text) + "` | " + comment + " |\n")
	}
}

package charts

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigs "sigs.k8s.io/yaml"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// A component is another way to the same manifests.
func TestComponentsDoWhatInjectDoes(t *testing.T) {
	for _, name := range []string{"scaffold", "two-services-plain", "statefulset-headless", "other-sidecars", "takeover-plain", "jobs-and-hooks"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("../../internal/inject/testdata/shapes", name)
			input, options := shape(t, dir)
			options.NetworkPolicy = false // documents of its own are not in a component
			result, err := inject.Inject(input, options)
			if err != nil {
				t.Fatal(err)
			}
			component, err := result.Kustomize()
			if err != nil {
				t.Fatal(err)
			}
			built := kustomize(t, string(input), component)
			if got, want := objects(t, built), objects(t, result.Output); !reflect.DeepEqual(got, want) {
				t.Errorf("kustomize makes something else:\n%s", inject.Diff("inject", "kustomize", string(result.Output), string(built)))
			}
		})
	}
}

// A chart that reorders the ports of its Service must fail the build, not open a way round.
func TestAComponentFailsWhenPortsHaveMoved(t *testing.T) {
	input, options := shape(t, "../../internal/inject/testdata/shapes/two-services-plain")
	result, err := inject.Inject(input, options)
	if err != nil {
		t.Fatal(err)
	}
	component, err := result.Kustomize()
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(string(input), "  - port: 443\n    name: https\n", "  - port: 9999\n    name: first\n    targetPort: 9999\n  - port: 443\n    name: https\n", 1)
	if _, err := build(moved, component); err == nil {
		t.Error("the component was applied to other ports")
	}
}

func shape(t *testing.T, dir string) ([]byte, inject.Options) {
	t.Helper()
	input, err := os.ReadFile(filepath.Join(dir, "in.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	options := inject.Defaults()
	set := flag.NewFlagSet(dir, flag.ContinueOnError)
	options.Bind(set)
	if err := set.Parse(strings.Fields(string(args))); err != nil {
		t.Fatal(err)
	}
	return input, options
}

func kustomize(t *testing.T, resources, component string) []byte {
	t.Helper()
	built, err := build(resources, component)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func build(resources, component string) ([]byte, error) {
	files := filesys.MakeFsInMemory()
	for name, content := range map[string]string{
		"/app/rendered.yaml": resources, "/app/component/kustomization.yaml": component,
		"/app/kustomization.yaml": "resources: [rendered.yaml]\ncomponents: [component]\n",
	} {
		if err := files.WriteFile(name, []byte(content)); err != nil {
			return nil, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/app")
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

// objects are what a stream says, by kind and name.
func objects(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	found := map[string]any{}
	for _, document := range documents(t, stream) {
		object := map[string]any{}
		if err := sigs.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		name := object["metadata"].(map[string]any)["name"]
		found[object["kind"].(string)+"/"+name.(string)] = object
	}
	return found
}

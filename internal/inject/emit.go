package inject

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kustomize prints what was done as a kustomize Component: the same operations as JSON patches, for those who cannot run a
// post-renderer. A Service's patch first tests that its ports still are where they were.
func (r Result) Kustomize() (string, error) {
	var out strings.Builder
	out.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n")
	for _, c := range r.changes {
		patch := &yaml.Node{Kind: yaml.SequenceNode}
		for _, o := range c.operations {
			if err := c.patch(patch, o); err != nil {
				return "", err
			}
		}
		text, err := shape{compact: true, ending: "\n"}.block(patch, 4)
		if err != nil {
			return "", err
		}
		out.WriteString(c.target() + "  patch: |-\n" + text)
	}
	return out.String(), nil
}

// target names the object that a patch is for.
func (c *change) target() string {
	o := c.site.object
	text := "- target:\n"
	if o.group != "" {
		text += "    group: " + o.group + "\n"
	}
	text += "    kind: " + o.kind + "\n    name: " + strconv.Quote(o.name) + "\n"
	if o.namespace != "" {
		text += "    namespace: " + strconv.Quote(o.namespace) + "\n"
	}
	return text
}

// patchStep is an operation of a JSON patch (RFC 6902).
type patchStep struct {
	Op    string     `yaml:"op"`
	Path  string     `yaml:"path"`
	Value *yaml.Node `yaml:"value"`
}

func (c *change) patch(patch *yaml.Node, o operation) error {
	full := c.site.path[len(c.site.object.path):].to(o.at...)
	step := patchStep{Op: "replace", Value: o.value}
	if o.add {
		step.Op = "add"
	}
	var err error
	if step.Path, err = c.indexed(full, o.add); err != nil {
		return err
	}
	if c.site.object.kind == "Service" && o.at.last() == "targetPort" {
		number := o.at[:len(o.at)-1].to("port")
		found, err := locate(c.site.root, number)
		if err != nil {
			return err
		}
		if err := appendStep(patch, patchStep{"test", number.String(), found.value()}); err != nil {
			return err
		}
	}
	return appendStep(patch, step)
}

func appendStep(patch *yaml.Node, step patchStep) error {
	node, err := nodeOf(step)
	patch.Content = append(patch.Content, node)
	return err
}

// indexed writes a pointer with places instead of names, as JSON patches need it. A new item comes last.
func (c *change) indexed(full pointer, add bool) (string, error) {
	root := c.site.object.root
	var steps pointer
	for i, step := range full {
		at := stepInto(root, step)
		if at < 0 {
			if !add || i != len(full)-1 {
				return "", fmt.Errorf("%s %w", full, errAbsent)
			}
			if root.Kind == yaml.SequenceNode {
				step = "-"
			}
			return steps.to(step).String(), nil
		}
		if root.Kind == yaml.SequenceNode {
			step = strconv.Itoa(at)
		}
		steps = steps.to(step)
		root = place{root, at}.value()
	}
	return steps.String(), nil
}

// Keys are the names under which a chart takes further containers and volumes.
type Keys struct{ Containers, Volumes string }

// Values prints what was added to the pods as values of a chart that takes them, and says in comments what the chart's
// Service needs.
func (r Result) Values(keys Keys) (string, error) {
	var out strings.Builder
	for _, c := range r.changes {
		if c.record.Name == "" {
			writeServiceHint(&out, c)
			continue
		}
		out.WriteString("# " + c.site.String() + "\n")
		for _, o := range c.operations {
			if err := writeValues(&out, o, keys); err != nil {
				return "", err
			}
		}
	}
	return out.String(), nil
}

func writeServiceHint(out *strings.Builder, c *change) {
	for _, o := range c.operations {
		if o.at.last() == "targetPort" || o.at.last() == "port" {
			fmt.Fprintf(out, "# %s needs %s: %s, by number; see the chart for the value that sets it\n", c.site, o.at, o.value.Value)
		}
	}
}

func writeValues(out *strings.Builder, o operation, keys Keys) error {
	list := o.value
	if o.value.Kind == yaml.MappingNode && len(o.at) == 3 { // an item of a list that is there
		list = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{o.value}}
	}
	var key string
	switch {
	case o.at[0] != "spec" || len(o.at) > 3 || list.Kind != yaml.SequenceNode:
		return nil
	case o.at[1] == "volumes":
		key = keys.Volumes
	case o.at[1] == "containers", o.at[1] == "initContainers":
		key = keys.Containers
	}
	text, err := shape{ending: "\n"}.block(list, 2)
	if !strings.Contains(out.String(), "\n"+key+":\n") {
		text = key + ":\n" + text
	}
	out.WriteString(text)
	return err
}

package inject

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is one Kubernetes object in a document; a list holds several.
type object struct {
	page      *page
	path      pointer // from the document's root
	root      *yaml.Node
	group     string // of the API, empty for the core
	kind      string
	name      string
	namespace string
}

// objectsOf finds the objects of a document: its own, or the items of a list.
func objectsOf(p *page) []*object {
	if p.root == nil {
		return nil
	}
	return objectsIn(p, p.root, nil, "")
}

func objectsIn(p *page, root *yaml.Node, path pointer, assumed string) []*object {
	root = resolve(root)
	kind := textOf(child(root, "kind"))
	items := child(root, "items")
	if strings.HasSuffix(kind, "List") && items != nil && items.Kind == yaml.SequenceNode {
		var found []*object
		for i, item := range items.Content {
			assumed := strings.TrimSuffix(strings.TrimSuffix(kind, "Resource"), "List")
			found = append(found, objectsIn(p, item, path.to("items", strconv.Itoa(i)), assumed)...)
		}
		return found
	}
	if kind == "" {
		kind = assumed
	}
	if kind == "" {
		return nil
	}
	group, _, inGroup := strings.Cut(textOf(child(root, "apiVersion")), "/")
	if !inGroup {
		group = ""
	}
	return []*object{{
		page: p, path: path, root: root, group: group, kind: kind,
		name:      textOf(child(root, "metadata", "name")),
		namespace: textOf(child(root, "metadata", "namespace")),
	}}
}

// String names the object as people do.
func (o *object) String() string {
	name := o.name
	if name == "" {
		name = textOf(child(o.root, "metadata", "generateName")) + "*"
	}
	return strings.ToLower(o.kind) + "/" + name
}

// at puts the object's name before an error.
func (o *object) at(err error) error { return fmt.Errorf("%s: %w", o, err) }

// annotation reads an annotation of the object itself.
func (o *object) annotation(name string) string {
	return textOf(child(o.root, "metadata", "annotations", name))
}

// isHook tells that Helm runs the object at its own time.
func (o *object) isHook() bool { return o.annotation("helm.sh/hook") != "" }

// owned tells that a controller made the object, and would undo what is done to it.
func (o *object) owned() bool {
	owners := child(o.root, "metadata", "ownerReferences")
	if owners == nil {
		return false
	}
	for _, owner := range owners.Content {
		if textOf(child(owner, "controller")) == "true" {
			return true
		}
	}
	return false
}

// near tells whether two objects may be in one namespace; one that names none is in the other's.
func (o *object) near(other *object) bool {
	return o.namespace == "" || other.namespace == "" || o.namespace == other.namespace
}

// site is the part of an object that operations work on: the object itself, or the pod template of a workload. Its
// annotations remember what was there before.
type site struct {
	*object
	root *yaml.Node
	path pointer // from the document's root
}

func (o *object) site() site { return site{o, o.root, o.path} }

func (o *object) templateSite() site {
	if o.kind == "Pod" {
		return o.site()
	}
	return site{o, child(o.root, "spec", "template"), o.path.to("spec", "template")}
}

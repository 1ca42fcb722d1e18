package inject

import (
	"errors"
	"fmt"
	"strings"
)

// Values of madeKey: whether a line break had to be put before the document that was added.
const (
	madeBy      = "inject"
	madeByBreak = "inject, after a line break"
)

// madeAs is the value of madeKey of a document that this package has added, else empty.
func madeAs(p *page) string {
	if p.root == nil {
		return ""
	}
	return textOf(child(p.root, "metadata", "annotations", madeKey))
}

// errPolicyForm refuses to add a document where the input is one document of another form.
var errPolicyForm = errors.New("a NetworkPolicy can be added to YAML documents only, not to JSON or a ResourceList")

// networkPolicy is a policy that lets in to every declared port of the pods but the application's.
type networkPolicy struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Metadata   policyMetadata `yaml:"metadata"`
	Spec       policySpec     `yaml:"spec"`
}

type policyMetadata struct {
	Name        string            `yaml:"name"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Annotations map[string]string `yaml:"annotations"`
}

type policySpec struct {
	Selector policySelector `yaml:"podSelector"`
	Types    []string       `yaml:"policyTypes"`
	Ingress  []policyRule   `yaml:"ingress"`
}

type policySelector struct {
	Labels map[string]string `yaml:"matchLabels"`
}

type policyRule struct {
	Ports []policyPort `yaml:"ports"`
}

type policyPort struct {
	Port     int    `yaml:"port"`
	Protocol string `yaml:"protocol"`
}

// policyOf writes the policy of a workload as a document of its own.
func (r *run) policyOf(w *workload, as string) (string, error) {
	ports := []policyPort{{r.options.Listen, "TCP"}, {r.options.Probe, "TCP"}}
	for _, one := range w.pod.all() {
		for _, port := range one.Ports {
			if number := port.number(); number > 0 && number != w.port && one.Name != r.options.Name {
				protocol := "TCP"
				if !port.isTCP() {
					protocol = port.Protocol
				}
				ports = append(ports, policyPort{number, protocol})
			}
		}
	}
	node, err := nodeOf(networkPolicy{
		APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy",
		Metadata: policyMetadata{w.object.name + "-sidecar", w.object.namespace, map[string]string{madeKey: as}},
		Spec:     policySpec{policySelector{w.selector()}, []string{"Ingress"}, []policyRule{{ports}}},
	})
	if err != nil {
		return "", err
	}
	text, err := shape{compact: true, ending: "\n"}.block(node, 0)
	return "---\n" + text, err
}

// selector is the labels by which a workload finds its pods.
func (w *workload) selector() map[string]string {
	for _, way := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "selector"}} {
		if w.object.kind == "Pod" {
			break
		}
		if found := stringMap(child(w.object.root, way...)); len(found) > 0 {
			return found
		}
	}
	return w.pod.Metadata.Labels
}

// policies puts the policies that were asked for behind the stream, or in the place of those of an earlier injection.
func (r *run) policies(chunks []string) (string, error) {
	selected := map[string]*workload{}
	for _, w := range r.selected {
		selected[w.object.name+"-sidecar"] = w
	}
	for i, p := range r.pages {
		as := madeAs(p)
		w := selected[textOf(child(p.root, "metadata", "name"))]
		if as == "" || w == nil {
			continue
		}
		if !r.options.NetworkPolicy {
			chunks[i] = undoAppended(&chunks, i, as)
			continue
		}
		delete(selected, w.object.name+"-sidecar")
		var err error
		if chunks[i], err = r.policyOf(w, as); err != nil {
			return "", err
		}
	}
	out := strings.Join(chunks, "")
	if !r.options.NetworkPolicy {
		return out, nil
	}
	return r.append(out, selected)
}

func (r *run) append(out string, selected map[string]*workload) (string, error) {
	for _, w := range r.selected {
		if selected[w.object.name+"-sidecar"] == nil {
			continue
		}
		if other := r.isolated(w); other != nil {
			r.note(w.object, fmt.Sprintf("no NetworkPolicy added: %s restricts its pods already, and another would let in whom it keeps out; "+
				"let your monitoring in to port %d there", other, r.options.Probe))
			continue
		}
		if w.object.page.isJSON() || textOf(child(w.object.page.root, "kind")) == "ResourceList" {
			return "", w.object.at(errPolicyForm)
		}
		as := madeBy
		if !breakBefore(out, len(out)) {
			as, out = madeByBreak, out+r.pages[len(r.pages)-1].newline
		}
		text, err := r.policyOf(w, as)
		if err != nil {
			return "", err
		}
		out += text
		r.note(w.object, fmt.Sprintf("networkpolicy/%s-sidecar added: every declared port but %d", w.object.name, w.port))
	}
	return out, nil
}

// isolated is a policy of the stream that restricts who reaches the pods of a workload. Policies only ever add to each
// other.
func (r *run) isolated(w *workload) *object {
	for _, o := range objectsOfAll(r.pages) {
		if found, _ := policyFor(o, []*workload{w}); found != nil && child(o.root, "spec", "ingress") != nil {
			return o
		}
	}
	return nil
}

// undoAppended empties the chunk of a document that was added, and takes the line break that was put before it.
func undoAppended(chunks *[]string, i int, as string) string {
	if as == madeByBreak && i > 0 {
		(*chunks)[i-1] = strings.TrimSuffix(strings.TrimSuffix((*chunks)[i-1], "\n"), "\r")
	}
	return ""
}

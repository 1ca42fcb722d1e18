package inject

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// planPolicy points the ports that a NetworkPolicy opens at the sidecar: what let clients in to the application lets them
// in to the sidecar, and to the application no more. Of a rule that opens more than one port, closed warns.
func (r *run) planPolicy(o *object, workloads []*workload) error {
	w, shared := policyFor(o, workloads)
	if w == nil {
		return nil
	}
	plan := planner{root: o.root}
	for i, rule := range itemsOf(child(o.root, "spec", "ingress")) {
		for j, port := range itemsOf(child(rule, "ports")) {
			if !w.openedAlone(port) {
				continue
			}
			if shared != "" {
				return o.at(fmt.Errorf("opens port %d of %s and of %s, which has no sidecar: select both, or part the policy", w.port, w.object, shared))
			}
			at := pointer{"spec", "ingress", strconv.Itoa(i), "ports", strconv.Itoa(j), "port"}
			if err := plan.set(at, r.options.Listen); err != nil {
				return o.at(err)
			}
			r.note(o, fmt.Sprintf("ingress port %s -> %d", textOf(child(port, "port")), r.options.Listen))
		}
	}
	if len(plan.operations) > 0 {
		r.changes = append(r.changes, &change{site: o.site(), operations: plan.operations})
	}
	return nil
}

// openedAlone tells whether a port of a policy's rule is the application's, and no other.
func (w *workload) openedAlone(port *yaml.Node) bool {
	name, end := textOf(child(port, "port")), textOf(child(port, "endPort"))
	return end == "" && w.pod.resolve(name) == w.port && w.opened(port)
}

// isPolicy tells that an object is a NetworkPolicy.
func (o *object) isPolicy() bool { return o.kind == "NetworkPolicy" && o.group == "networking.k8s.io" }

// restricts tells whether a policy, one of ours included, says who may reach the pods of a workload.
func (o *object) restricts(w *workload) bool {
	types := itemsOf(child(o.root, "spec", "policyTypes"))
	ingress := len(types) == 0 || slices.ContainsFunc(types, func(one *yaml.Node) bool { return textOf(one) == "Ingress" })
	return o.isPolicy() && ingress && o.near(w.object) && matches(child(o.root, "spec", "podSelector"), w.pod.Metadata.Labels)
}

// policyFor is the selected workload that a policy is about, and one without a sidecar that it is about, too.
func policyFor(o *object, workloads []*workload) (found *workload, shared string) {
	if !o.isPolicy() || o.annotation(madeKey) != "" {
		return nil, ""
	}
	selector := child(o.root, "spec", "podSelector")
	if expressions := child(selector, "matchExpressions"); expressions != nil && len(expressions.Content) > 0 {
		return nil, ""
	}
	labels := stringMap(child(selector, "matchLabels"))
	for _, w := range workloads {
		switch {
		case !o.near(w.object) || !selects(labels, w.pod.Metadata.Labels):
		case w.selected:
			found = w
		case w.listen == 0 && !w.object.isHook():
			shared = w.object.String()
		}
	}
	return found, shared
}

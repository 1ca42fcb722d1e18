package inject

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// planPolicy points the ports that a NetworkPolicy opens at the sidecar: what let clients in to the application lets them
// in to the sidecar, and to the application no more.
func (r *run) planPolicy(o *object, workloads []*workload) error {
	w, shared := policyFor(o, workloads)
	if w == nil {
		return nil
	}
	plan := planner{root: o.root}
	rules := child(o.root, "spec", "ingress")
	for i := 0; rules != nil && i < len(rules.Content); i++ {
		ports := child(rules.Content[i], "ports")
		if ports == nil || len(ports.Content) == 0 {
			r.warn(o, "a rule lets in to every port, the application's included")
			continue
		}
		for j, port := range ports.Content {
			if !r.opens(o, w, port) {
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

// opens tells whether a port of a rule is the application's.
func (r *run) opens(o *object, w *workload, port *yaml.Node) bool {
	if protocol := textOf(child(port, "protocol")); protocol != "" && protocol != "TCP" {
		return false
	}
	target := w.pod.resolve(textOf(child(port, "port")))
	if end, err := strconv.Atoi(textOf(child(port, "endPort"))); err == nil && end > 0 {
		if target <= w.port && w.port <= end {
			r.warn(o, fmt.Sprintf("ports %d to %d include the application's port %d", target, end, w.port))
		}
		return false
	}
	return target == w.port
}

// policyFor is the selected workload that a policy is about, and one without a sidecar that it is about, too.
func policyFor(o *object, workloads []*workload) (found *workload, shared string) {
	if o.kind != "NetworkPolicy" || o.group != "networking.k8s.io" || o.annotation(madeKey) != "" {
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

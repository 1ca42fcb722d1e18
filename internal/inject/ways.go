package inject

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Ways lists the ways round the sidecar that a stream leaves open: a selected workload without a sidecar, a Service or a
// policy that still leads to the application, and ports of the node. Workloads that have the sidecar count as selected.
func Ways(input []byte, o Options) ([]string, error) {
	r := &run{options: o, chunks: split(string(input))}
	if err := r.read(); err != nil {
		return nil, err
	}
	objects := objectsOfAll(r.pages)
	workloads, err := workloadsOf(objects, o.Kinds)
	if err != nil {
		return nil, err
	}
	err = r.choose(workloads)
	attached := slices.ContainsFunc(workloads, func(w *workload) bool { return w.listen > 0 })
	if err != nil && (len(o.Workloads) > 0 || !attached || !errors.Is(err, ErrNoMatch)) {
		return nil, err
	}
	var ways []string
	for _, w := range workloads {
		switch {
		case w.listen > 0:
			ways = append(ways, waysTo(w, objects)...)
		case w.selected:
			ways = append(ways, w.object.String()+" has no sidecar")
		}
	}
	return ways, nil
}

// waysTo lists the ways to the application of one workload.
func waysTo(w *workload, objects []*object) []string {
	var ways []string
	add := func(format string, args ...any) { ways = append(ways, fmt.Sprintf(format, args...)) }
	if w.pod.Spec.HostNetwork {
		add("%s uses hostNetwork: port %d is the node's", w.object, w.port)
	}
	if err := w.hostPorts(); err != nil {
		add("%s: %v", w.object, err)
	}
	for _, name := range w.pod.doubles() {
		add("%s has two ports named %s: a Service that names it reaches the container's, not the init container's", w.object, name)
	}
	for _, s := range servicesOf(objects) {
		for _, port := range s.ports {
			if s.reaches(w) && port.protocol == "TCP" && w.pod.resolve(port.target) == w.port {
				add("%s port %s reaches port %d of %s (targetPort %s)", s.object, port.number, w.port, w.object, port.target)
			}
		}
	}
	for _, o := range objects {
		ways = append(ways, waysThrough(o, w)...)
	}
	return ways
}

// waysThrough lists the rules of a policy that let in to the application.
func waysThrough(o *object, w *workload) []string {
	guarded := *w
	guarded.selected = true
	if found, _ := policyFor(o, []*workload{&guarded}); found == nil {
		return nil
	}
	var ways []string
	rules := child(o.root, "spec", "ingress")
	for i := 0; rules != nil && i < len(rules.Content); i++ {
		ports := child(rules.Content[i], "ports")
		for j := 0; ports != nil && j < len(ports.Content); j++ {
			target := w.pod.resolve(textOf(child(ports.Content[j], "port")))
			last, err := strconv.Atoi(textOf(child(ports.Content[j], "endPort")))
			if err != nil {
				last = target
			}
			if target <= w.port && w.port <= last {
				ways = append(ways, fmt.Sprintf("%s opens port %d of %s", o, w.port, w.object))
			}
		}
	}
	return ways
}

// doubles are the port names that two containers have.
func (p *pod) doubles() []string {
	var seen, found []string
	for _, one := range p.all() {
		for _, port := range one.Ports {
			if port.Name != "" && slices.Contains(seen, port.Name) {
				found = append(found, port.Name)
			}
			seen = append(seen, port.Name)
		}
	}
	return found
}

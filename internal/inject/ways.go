package inject

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Report is what Check finds in a stream. Only what is in the stream is looked at.
type Report struct {
	// Guarded are the workloads that have the sidecar.
	Guarded []string
	// Open are the ways round: a selected workload without a sidecar, a Service or a rule of a NetworkPolicy that leads to
	// the application, and ports of the node.
	Open []string
	// Unclosed tells of workloads with the sidecar whose pods no NetworkPolicy of the stream restricts. One elsewhere may,
	// or the application listens on loopback only.
	Unclosed []string
}

// Check looks for ways round the sidecar that a stream leaves open. Workloads that have the sidecar count as selected.
func Check(input []byte, o Options) (Report, error) {
	workloads, objects, err := surveyed(input, o)
	if err != nil {
		return Report{}, err
	}
	var report Report
	for _, w := range workloads {
		if w.listen == 0 {
			continue
		}
		report.Guarded = append(report.Guarded, w.object.String())
		if !slices.ContainsFunc(objects, func(o *object) bool { return o.restricts(w) }) {
			report.Unclosed = append(report.Unclosed, fmt.Sprintf("no NetworkPolicy in this input restricts the pods of %s: whoever reaches port %d of one "+
				"goes round, unless a policy elsewhere closes it", w.object, w.port))
		}
	}
	for _, way := range waysOf(workloads, objects) {
		report.Open = append(report.Open, way.String())
	}
	return report, nil
}

// surveyed finds the workloads of a stream and marks the selected ones.
func surveyed(input []byte, o Options) ([]*workload, []*object, error) {
	r := &run{options: o, chunks: split(string(input))}
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	objects := objectsOfAll(r.pages)
	workloads, err := workloadsOf(objects, o.Kinds)
	if err != nil {
		return nil, nil, err
	}
	err = r.choose(workloads)
	attached := slices.ContainsFunc(workloads, func(w *workload) bool { return w.listen > 0 })
	if err != nil && (len(o.Workloads) > 0 || !attached || !errors.Is(err, ErrNoMatch)) {
		return nil, nil, err
	}
	return workloads, objects, nil
}

// way is a way round the sidecar.
type way struct {
	object *object // which leaves it open
	text   string
	rule   bool // of a NetworkPolicy
}

func (w way) String() string { return w.object.String() + " " + w.text }

func waysOf(workloads []*workload, objects []*object) []way {
	var ways []way
	for _, w := range workloads {
		switch {
		case w.listen > 0:
			ways = append(ways, waysTo(w, objects)...)
		case w.selected:
			ways = append(ways, way{object: w.object, text: "has no sidecar"})
		}
	}
	return ways
}

// waysTo lists the ways to the application of one workload.
func waysTo(w *workload, objects []*object) []way {
	var ways []way
	add := func(o *object, format string, args ...any) {
		ways = append(ways, way{object: o, text: fmt.Sprintf(format, args...)})
	}
	if w.pod.Spec.HostNetwork {
		add(w.object, "uses hostNetwork: port %d is the node's", w.port)
	}
	if err := w.hostPorts(); err != nil {
		add(w.object, "is reached from the node: %v", err)
	}
	for _, name := range w.pod.doubles() {
		add(w.object, "has two ports named %s: a Service that names it reaches the container's, not the init container's", name)
	}
	for _, s := range servicesOf(objects) {
		for _, port := range s.ports {
			if s.reaches(w) && port.protocol == "TCP" && w.pod.resolve(port.target) == w.port {
				add(s.object, "port %s reaches port %d of %s (targetPort %s)", port.number, w.port, w.object, port.target)
			}
		}
	}
	for _, o := range objects {
		if o.restricts(w) {
			ways = append(ways, waysThrough(o, w)...)
		}
	}
	return ways
}

// waysThrough lists the rules of a policy that let in to the application.
func waysThrough(o *object, w *workload) []way {
	var ways []way
	for _, rule := range itemsOf(child(o.root, "spec", "ingress")) {
		ports := itemsOf(child(rule, "ports"))
		switch {
		case len(ports) == 0:
			ways = append(ways, way{o, fmt.Sprintf("opens every port of %s, %d included", w.object, w.port), true})
		case slices.ContainsFunc(ports, w.opened):
			ways = append(ways, way{o, fmt.Sprintf("opens port %d of %s", w.port, w.object), true})
		}
	}
	return ways
}

// opened tells whether a port of a policy's rule, which may be a range, or without a number all of them, is the
// application's.
func (w *workload) opened(port *yaml.Node) bool {
	if protocol := textOf(child(port, "protocol")); protocol != "" && protocol != "TCP" {
		return false
	}
	name := textOf(child(port, "port"))
	first := w.pod.resolve(name)
	last, err := strconv.Atoi(textOf(child(port, "endPort")))
	if err != nil {
		last = first
	}
	return name == "" || first <= w.port && w.port <= last
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

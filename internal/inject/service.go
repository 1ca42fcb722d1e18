package inject

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// service is a Service of the stream, and which workloads of the stream it reaches.
type service struct {
	object   *object
	selector map[string]string
	headless bool
	ports    []servicePort
}

type servicePort struct {
	index    int
	name     string
	target   string // name or number
	protocol string
	number   string
}

func servicesOf(objects []*object) []*service {
	var found []*service
	for _, o := range objects {
		if o.kind != "Service" || o.group != "" || textOf(child(o.root, "spec", "type")) == "ExternalName" {
			continue
		}
		s := &service{object: o, selector: stringMap(child(o.root, "spec", "selector")),
			headless: textOf(child(o.root, "spec", "clusterIP")) == "None"}
		if ports := child(o.root, "spec", "ports"); ports != nil {
			for i, node := range ports.Content {
				s.ports = append(s.ports, newServicePort(i, node))
			}
		}
		found = append(found, s)
	}
	return found
}

func newServicePort(index int, node *yaml.Node) servicePort {
	p := servicePort{
		index: index, name: textOf(child(node, "name")), number: textOf(child(node, "port")),
		protocol: cmp.Or(textOf(child(node, "protocol")), "TCP"),
	}
	p.target = cmp.Or(textOf(child(node, "targetPort")), p.number)
	return p
}

// reaches tells whether a Service may send to the pods of a workload.
func (s *service) reaches(w *workload) bool {
	return s.object.near(w.object) && selects(s.selector, w.pod.Metadata.Labels)
}

// targets are the ports of a workload that Services reach.
func targets(services []*service, w *workload) []int {
	seen := map[int]bool{}
	var found []int
	for _, s := range services {
		for _, port := range s.ports {
			number := w.pod.resolve(port.target)
			if s.reaches(w) && number > 0 && !seen[number] && port.protocol == "TCP" {
				seen[number] = true
				found = append(found, number)
			}
		}
	}
	return found
}

// planService points the ports of a Service that lead to an application at the sidecar.
func (r *run) planService(s *service, workloads []*workload) error {
	plan := planner{root: s.object.root}
	for _, port := range s.ports {
		w, err := s.guards(port, workloads)
		if err != nil {
			return s.object.at(err)
		}
		if w == nil {
			continue
		}
		if err := r.headless(s, w); err != nil {
			return s.object.at(err)
		}
		at := pointer{"spec", "ports", strconv.Itoa(port.index), "targetPort"}
		if err := plan.set(at, r.options.Listen); err != nil {
			return s.object.at(err)
		}
		r.note(s.object, fmt.Sprintf("port %s: targetPort %s -> %d", cmp.Or(port.name, port.number), port.target, r.options.Listen))
	}
	if len(plan.operations) > 0 {
		r.changes = append(r.changes, &change{site: s.object.site(), operations: plan.operations})
	}
	return nil
}

// passersBy warns of pods that end by themselves and have the labels that a changed Service selects: where a name kept them
// out of its endpoints, a number does not.
func (r *run) passersBy(s *service, objects []*object) {
	for _, o := range objects {
		var template *yaml.Node
		switch {
		case o.kind == "Job" || o.isHook():
			template = o.templateSite().root
		case o.kind == "CronJob":
			template = child(o.root, "spec", "jobTemplate", "spec", "template")
		}
		if template != nil && s.object.near(o) && selects(s.selector, stringMap(child(template, "metadata", "labels"))) {
			r.warn(s.object, fmt.Sprintf("it also selects the pods of %s: while one runs, requests that reach it are refused; give it other labels", o))
		}
	}
}

// guards is the selected workload whose application a port leads to; nil where there is none.
func (s *service) guards(port servicePort, workloads []*workload) (*workload, error) {
	var guarded *workload
	var open []string
	for _, w := range workloads {
		if !s.reaches(w) || port.protocol != "TCP" || w.object.isHook() {
			continue
		}
		switch number := w.pod.resolve(port.target); {
		case w.selected && number == w.port:
			guarded = w
		case !w.selected && w.port > 0 && w.listen > 0 && number == w.port: // injected earlier
		default:
			open = append(open, w.object.String())
		}
	}
	if guarded != nil && len(open) > 0 {
		return nil, fmt.Errorf("port %s also reaches %s, which has no sidecar there: select it, too, or part their labels",
			port.number, strings.Join(open, ", "))
	}
	return guarded, nil
}

// errHeadless refuses what only seems guarded.
var errHeadless = errors.New("is headless: its clients dial the pods on whatever port they like, and targetPort does not hold them. " +
	"--takeover points its endpoints at the sidecar all the same; close the application's port with --emit-network-policy")

func (r *run) headless(s *service, w *workload) error {
	if !s.headless {
		return nil
	}
	if !r.options.Takeover {
		return errHeadless
	}
	r.warn(s.object, fmt.Sprintf("headless: its endpoints name the sidecar's port now, but clients that dial port %d of the pods of %s still reach "+
		"the application; --emit-network-policy closes it", w.port, w.object))
	return nil
}

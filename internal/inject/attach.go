package inject

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// planWorkload adds container and volumes to a pod template, and with Takeover renames the application's port.
func (r *run) planWorkload(w *workload) error {
	plan := &planner{root: w.site.root}
	portName := webhookPort
	if r.options.Takeover {
		var err error
		if portName, err = r.takeover(plan, w); err != nil {
			return err
		}
	}
	if err := r.loopback(plan, w); err != nil {
		return err
	}
	if err := r.addContainer(plan, w, portName); err != nil {
		return err
	}
	var volumes []named
	for _, volume := range w.volumes(r.options) {
		node, err := nodeOf(volume)
		if err != nil {
			return err
		}
		volumes = append(volumes, named{name: textOf(child(node, "name")), node: node})
	}
	if err := plan.insert(pointer{"spec", "volumes"}, volumes...); err != nil {
		return err
	}
	c := &change{site: w.site, operations: plan.operations, record: record{Name: r.options.Name}}
	if !w.native && w.pod.Metadata.Annotations[defaultKey] == "" {
		c.extra = []named{{defaultKey, stringNode(w.app.Name), true}}
	}
	r.changes = append(r.changes, c)
	r.tell(w)
	return nil
}

func (r *run) addContainer(plan *planner, w *workload, portName string) error {
	node, err := nodeOf(w.sidecar(r.options, portName))
	if err != nil {
		return err
	}
	list := pointer{"spec", "containers"}
	if w.native {
		list = pointer{"spec", "initContainers"} // the last one: the others do not need it, deliveries come from outside
	}
	return plan.insert(list, named{name: r.options.Name, node: node})
}

// takeover gives the name of the application's port to the sidecar's, so that whoever names the port reaches the sidecar.
// The application's probes named it, too: they get the number, because the kubelet looks for names in the probed container.
func (r *run) takeover(plan *planner, w *workload) (string, error) {
	for i, port := range w.app.Ports {
		if port.number() != w.port {
			continue
		}
		if port.Name == "" {
			return "", errors.New("takeover: the application's port has no name to take over")
		}
		other := "app-" + port.Name
		if len(other) > 15 {
			other = "app-" + port.Number
		}
		if w.pod.resolve(other) != 0 {
			return "", fmt.Errorf("takeover: the port name %s is taken", other)
		}
		if err := plan.set(w.app.place.to("ports", strconv.Itoa(i), "name"), other); err != nil {
			return "", err
		}
		r.note(w.object, fmt.Sprintf("port name %s now means the sidecar; the application's port is %s", port.Name, other))
		if minor, err := r.options.minor(); err == nil && w.native && minor < namesSince {
			r.warn(w.object, fmt.Sprintf("Kubernetes before 1.%d does not find the port names of native sidecars: a Service outside this input "+
				"that names %s reaches nobody. --native=never avoids it", namesSince, port.Name))
		}
		return port.Name, r.renumber(plan, w, port.Name)
	}
	return "", fmt.Errorf("takeover: container %s does not declare port %d", w.app.Name, w.port)
}

func (r *run) renumber(plan *planner, w *workload, name string) error {
	uses := w.app.uses()
	for _, key := range slices.Sorted(maps.Keys(uses)) {
		found, err := locate(plan.root, uses[key])
		if err != nil {
			return err
		}
		if found.value().Value != name {
			continue
		}
		if err := plan.set(uses[key], w.port); err != nil {
			return err
		}
	}
	return nil
}

// tell reports what was done to a workload, and what its owner should look at.
func (r *run) tell(w *workload) {
	kind := "container"
	if w.native {
		kind = "native sidecar"
	}
	r.note(w.object, fmt.Sprintf("injected: %s %q, port %d -> %d of %s; ledger %s; guard %s",
		kind, r.options.Name, w.listen, w.port, w.app.Name, w.ledger, strings.Join(r.options.Guard, ",")))
	if text := w.ending(r.options).tooShort(); text != "" {
		r.warn(w.object, text)
	}
	for _, port := range w.app.Ports {
		if port.isTCP() && port.number() != w.port {
			r.note(w.object, fmt.Sprintf("port %s of %s is not behind the sidecar", port, w.app.Name))
		}
	}
	r.lostProbes(w)
}

// lostProbes finds probes that name a port which their own container does not have. The API accepts them, the kubelet not.
func (r *run) lostProbes(w *workload) {
	for _, one := range w.pod.all() {
		uses := one.uses()
		for _, key := range slices.Sorted(maps.Keys(uses)) {
			found, err := locate(w.site.root, uses[key])
			if err != nil {
				continue
			}
			name := found.value().Value
			if !slices.ContainsFunc(one.Ports, func(p port) bool { return p.Name == name }) {
				r.warn(w.object, fmt.Sprintf("container %s: %s names port %s, which that container does not have", one.Name, key, name))
			}
		}
	}
}

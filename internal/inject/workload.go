package inject

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// workload is an object that makes pods, and where the sidecar stands in them.
type workload struct {
	object *object
	site   site
	pod    *pod
	record record // of an earlier injection

	selected bool
	native   bool
	app      *container
	port     int // of the application
	listen   int // of the sidecar
	ledger   string
}

// makers are the kinds that have a pod template at spec.template, with the group of their API.
func makers() map[string]string {
	return map[string]string{
		"Deployment": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "ReplicaSet": "apps", "ReplicationController": "", "Pod": "",
	}
}

// makesPods tells whether an object is of a kind that the sidecar can be attached to.
func (o *object) makesPods(further []string) bool {
	if group, known := makers()[o.kind]; known {
		return o.group == group || o.group == "" || o.group == "extensions"
	}
	return slices.ContainsFunc(further, func(kind string) bool {
		name, group, _ := strings.Cut(kind, ".")
		return name == o.kind && (group == "" || group == o.group)
	})
}

// workloadsOf finds everything that makes pods.
func workloadsOf(objects []*object, further []string) ([]*workload, error) {
	var found []*workload
	for _, o := range objects {
		if !o.makesPods(further) {
			continue
		}
		w := &workload{object: o, site: o.templateSite()}
		var err error
		if w.pod, err = podOf(w.site); err != nil {
			return nil, err
		}
		if w.record, _, err = recordOf(w.site); err != nil {
			return nil, err
		}
		w.attached()
		found = append(found, w)
	}
	return found, nil
}

// attached reads from a pod that has the sidecar where it stands: ours, or one that somebody wrote by hand. Nothing is set
// where there is none.
func (w *workload) attached() {
	for _, one := range w.pod.all() {
		if one.Name != w.record.Name && !one.isSidecar() {
			continue
		}
		w.port, w.listen = 8080, 8700
		for _, env := range one.Env {
			switch env.Name {
			case "SIDECAR_UPSTREAM":
				w.port = portOf(strings.TrimSuffix(env.Value, "/"))
			case "SIDECAR_LISTEN":
				w.listen = portOf(env.Value)
			}
		}
	}
}

// isSidecar tells a sidecar by the setting that every one in a cluster has.
func (c *container) isSidecar() bool {
	return slices.ContainsFunc(c.Env, func(env envVar) bool { return env.Name == "SIDECAR_NAMESPACE" })
}

// portOf is the number behind the last colon.
func portOf(address string) int {
	number, err := strconv.Atoi(address[strings.LastIndex(address, ":")+1:])
	if err != nil {
		return 80
	}
	return number
}

// settle decides which container and port of a selected workload the sidecar stands in front of. targets are the ports
// that Services of the stream reach.
func (w *workload) settle(o Options, targets []int) error {
	var err error
	if w.native, err = o.Placement(); err != nil {
		return err
	}
	if w.pod.Spec.HostNetwork {
		return errors.New("hostNetwork: the application's port is the node's, and anybody who reaches the node goes round the sidecar")
	}
	if w.app, err = w.chooseContainer(o); err != nil {
		return err
	}
	if w.port, err = w.choosePort(o, targets); err != nil {
		return err
	}
	w.listen = o.Listen
	if w.ledger, err = o.ledger(w.object); err != nil {
		return err
	}
	return w.clash(o)
}

func (w *workload) chooseContainer(o Options) (*container, error) {
	name := cmp.Or(o.Container, w.pod.Metadata.Annotations[defaultKey])
	for _, one := range w.pod.all() {
		if one.Name == name {
			return one, nil
		}
	}
	if o.Container != "" {
		return nil, fmt.Errorf("no container %q", o.Container)
	}
	all := w.pod.Spec.Containers
	if len(all) == 0 {
		return nil, errors.New("no containers")
	}
	var serving []*container
	for _, one := range w.pod.all() {
		if len(one.Ports) > 0 {
			serving = append(serving, one)
		}
	}
	if o.Port != "" && len(serving) > 1 {
		serving = slices.DeleteFunc(serving, func(one *container) bool { return !one.has(o.Port) })
	}
	switch {
	case len(all) == 1 && len(serving) <= 1:
		return cmp.Or(first(serving), &all[0]), nil
	case len(serving) == 1:
		return serving[0], nil
	}
	return nil, errors.New("several containers may be the application; say which with --container")
}

// has tells whether a container declares a port, by name or number.
func (c *container) has(port string) bool {
	for _, one := range c.Ports {
		if one.Name == port || one.Number == port {
			return true
		}
	}
	return false
}

func first(list []*container) *container {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// choosePort is the port that was asked for, the only one that there is, or the only one that Services reach.
func (w *workload) choosePort(o Options, targets []int) (int, error) {
	if o.Port != "" {
		return w.portNamed(o.Port)
	}
	var declared []int
	for _, port := range w.app.Ports {
		if port.isTCP() && port.number() > 0 {
			declared = append(declared, port.number())
		}
	}
	reached := targets
	if len(declared) > 0 {
		reached = slices.DeleteFunc(slices.Clone(targets), func(port int) bool { return !slices.Contains(declared, port) })
	}
	switch {
	case len(declared) == 1:
		return declared[0], nil
	case len(reached) == 1:
		return reached[0], nil
	case len(declared) == 0 && len(reached) == 0:
		return 0, errors.New("the application declares no port; say it with --port")
	}
	return 0, fmt.Errorf("the application has several ports (%s); say which with --port", portList(w.app.Ports))
}

func (w *workload) portNamed(name string) (int, error) {
	for _, port := range w.app.Ports {
		if port.Name == name {
			return port.number(), nil
		}
	}
	if number, err := strconv.Atoi(name); err == nil && number > 0 && number < 65536 {
		return number, nil
	}
	return 0, fmt.Errorf("container %s has no port %q; it has %s", w.app.Name, name, portList(w.app.Ports))
}

func portList(ports []port) string {
	var names []string
	for _, port := range ports {
		names = append(names, port.String())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// clash refuses names and ports that the pod has already: containers share their network.
func (w *workload) clash(o Options) error {
	if w.pod.named(o.Name) {
		return fmt.Errorf("a container named %s is there already, and inject did not put it there; choose another with --name", o.Name)
	}
	taken, names := map[int]string{w.port: w.app.Name}, map[string]string{}
	for _, one := range w.pod.all() {
		for _, port := range one.Ports {
			names[port.Name] = one.Name
			if port.isTCP() {
				taken[port.number()] = one.Name
			}
		}
	}
	for _, own := range []struct {
		flag   string
		number int
	}{{"listen", o.Listen}, {"admin", o.Admin}, {"probe", o.Probe}} {
		if owner := taken[own.number]; owner != "" {
			return fmt.Errorf("port %d is taken by container %s; the next free one is %d: --%s-port=%d",
				own.number, owner, free(taken, o), own.flag, free(taken, o))
		}
	}
	for _, name := range []string{webhookPort, probePort} {
		if owner := names[name]; owner != "" {
			return fmt.Errorf("port name %s is taken by container %s", name, owner)
		}
	}
	for _, volume := range w.pod.Spec.Volumes {
		if volume.Name == o.Name+"-config" || volume.Name == o.Name+"-secrets" {
			return fmt.Errorf("a volume named %s is there already; choose another name with --name", volume.Name)
		}
	}
	return w.hostPorts()
}

func free(taken map[int]string, o Options) int {
	for number := o.Listen + 10; ; number++ {
		if taken[number] == "" && number != o.Admin && number != o.Probe {
			return number
		}
	}
}

func (w *workload) hostPorts() error {
	for _, one := range w.pod.all() {
		for _, port := range one.Ports {
			if port.HostPort != "" && port.HostPort != "0" && port.number() == w.port {
				return fmt.Errorf("hostPort %s leads to the application's port round the sidecar; remove it first", port.HostPort)
			}
		}
	}
	return nil
}

package inject

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// pod is what a pod template says, as far as it matters here.
type pod struct {
	Metadata struct {
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		HostNetwork    bool        `yaml:"hostNetwork"`
		Grace          *int        `yaml:"terminationGracePeriodSeconds"`
		InitContainers []container `yaml:"initContainers"`
		Containers     []container `yaml:"containers"`
		Volumes        []volume    `yaml:"volumes"`
	} `yaml:"spec"`
}

type volume struct {
	Name string `yaml:"name"`
}

type container struct {
	Name          string   `yaml:"name"`
	RestartPolicy string   `yaml:"restartPolicy"`
	Ports         []port   `yaml:"ports"`
	Env           []envVar `yaml:"env"`

	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Startup   probe `yaml:"startupProbe"`
	Lifecycle struct {
		PostStart probe `yaml:"postStart"`
		PreStop   hook  `yaml:"preStop"`
	} `yaml:"lifecycle"`

	place pointer // from the template
}

type port struct {
	Name     string `yaml:"name"`
	Number   string `yaml:"containerPort"`
	HostPort string `yaml:"hostPort"`
	Protocol string `yaml:"protocol"`
}

type envVar struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

type probe struct {
	HTTP handler `yaml:"httpGet"`
	TCP  handler `yaml:"tcpSocket"`
}

type handler struct {
	Port string `yaml:"port"`
}

// hook is what runs before a container gets its signal.
type hook struct {
	Probe probe `yaml:",inline"`
	Exec  struct {
		Command []string `yaml:"command"`
	} `yaml:"exec"`
	Sleep struct {
		Seconds int `yaml:"seconds"`
	} `yaml:"sleep"`
}

// podOf reads a pod template. Numbers and texts are told apart by who uses them, as the API does.
func podOf(s site) (*pod, error) {
	if s.root == nil || s.root.Kind != yaml.MappingNode {
		return nil, s.at(fmt.Errorf("%s is missing", s.path))
	}
	p := &pod{}
	if err := s.root.Decode(p); err != nil {
		return nil, s.at(fmt.Errorf("not a pod: %w", err))
	}
	for kind, list := range map[string][]container{"containers": p.Spec.Containers, "initContainers": p.Spec.InitContainers} {
		for i := range list {
			list[i].place = pointer{"spec", kind, list[i].Name}
		}
	}
	return p, nil
}

// all are the containers that may have ports, in the order in which Services look for a port's name: the containers, then
// the init containers that keep running.
func (p *pod) all() []*container {
	var found []*container
	for i := range p.Spec.Containers {
		found = append(found, &p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].RestartPolicy == "Always" {
			found = append(found, &p.Spec.InitContainers[i])
		}
	}
	return found
}

// named tells whether any container, init containers that end included, has a name.
func (p *pod) named(name string) bool {
	has := func(one container) bool { return one.Name == name }
	return slices.ContainsFunc(p.Spec.Containers, has) || slices.ContainsFunc(p.Spec.InitContainers, has)
}

// resolve finds the number that a Service's or policy's port means in this pod: a number is itself, a name is looked up
// as the cluster does. Zero: nobody has that name.
func (p *pod) resolve(target string) int {
	if number, err := strconv.Atoi(target); err == nil {
		return number
	}
	for _, one := range p.all() {
		for _, port := range one.Ports {
			if port.Name == target {
				return port.number()
			}
		}
	}
	return 0
}

func (p port) number() int {
	number, err := strconv.Atoi(p.Number)
	if err != nil {
		return 0
	}
	return number
}

func (p port) isTCP() bool { return p.Protocol == "" || p.Protocol == "TCP" }

// String names a port as people do.
func (p port) String() string {
	if p.Name != "" {
		return p.Name + " (" + p.Number + ")"
	}
	return p.Number
}

// uses are the pointers to handlers of a container that name a port, each with the name.
func (c *container) uses() map[string]pointer {
	found := map[string]pointer{}
	for _, one := range []struct {
		probe probe
		at    pointer
	}{
		{c.Liveness, pointer{"livenessProbe"}}, {c.Readiness, pointer{"readinessProbe"}}, {c.Startup, pointer{"startupProbe"}},
		{c.Lifecycle.PostStart, pointer{"lifecycle", "postStart"}}, {c.Lifecycle.PreStop.Probe, pointer{"lifecycle", "preStop"}},
	} {
		for kind, handler := range map[string]handler{"httpGet": one.probe.HTTP, "tcpSocket": one.probe.TCP} {
			if _, err := strconv.Atoi(handler.Port); err != nil && handler.Port != "" {
				at := one.at.to(kind, "port")
				found[at.String()] = c.place.to(at...)
			}
		}
	}
	return found
}

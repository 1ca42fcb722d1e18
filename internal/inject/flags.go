package inject

import (
	"flag"
	"strings"
)

// list is a flag that may be given several times, or once with commas.
type list struct{ values *[]string }

func (l list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, ",")
}

func (l list) Set(text string) error {
	*l.values = append(*l.values, strings.Split(text, ",")...)
	return nil
}

// single is a flag that may be given several times, where commas mean themselves.
type single struct{ list }

func (s single) Set(text string) error {
	*s.values = append(*s.values, text)
	return nil
}

// guards is a list whose first value replaces the default.
type guards struct {
	list
	given *bool
}

func (g guards) Set(text string) error {
	if !*g.given {
		*g.values, *g.given = nil, true
	}
	return g.list.Set(text)
}

// Bind defines the flags of the options, with their present values as defaults.
func (o *Options) Bind(set *flag.FlagSet) {
	set.Var(list{&o.Workloads}, "workload", "`kind/name` of what gets the sidecar, such as deploy/app; may be repeated")
	set.StringVar(&o.Selector, "l", o.Selector, "labels of what gets the sidecar: `a=b,c=d`")
	set.Var(list{&o.Kinds}, "kind", "a further `Kind.group` with a pod template at spec.template, such as Rollout.argoproj.io")
	set.StringVar(&o.Container, "container", o.Container, "the application's container, where there are several")
	set.StringVar(&o.Port, "port", o.Port, "the application's port, name or number, where there are several")
	set.BoolVar(&o.Takeover, "takeover", o.Takeover, "give the name of the application's port to the sidecar; serve headless Services")
	set.Var(single{list{&o.Loopback}}, "loopback-env", "a variable of the application that makes it listen on loopback only: `HOST=127.0.0.1`")
	set.StringVar(&o.Native, "native", o.Native, "native sidecar: auto, always or never")
	set.StringVar(&o.KubeVersion, "kube-version", o.KubeVersion, "the cluster's version, for --native=auto")
	set.StringVar(&o.Name, "name", o.Name, "the container's name")
	set.StringVar(&o.Image, "image", o.Image, "the container's image")
	set.StringVar(&o.PullPolicy, "image-pull-policy", o.PullPolicy, "of the image; empty: the cluster's default")
	set.IntVar(&o.Listen, "listen-port", o.Listen, "port of the public listener")
	set.IntVar(&o.Admin, "admin-port", o.Admin, "port of the admin listener, on loopback")
	set.IntVar(&o.Probe, "probe-port", o.Probe, "port of the probes and metrics")
	set.StringVar(&o.Namespace, "ledger-namespace", o.Namespace, "SIDECAR_NAMESPACE, `name` of the application's ledger; empty: the workload's name")
	set.Var(guards{list{&o.Guard}, new(bool)}, "guard", "SIDECAR_GUARD, the folder of the routes: a path `prefix`; may be repeated")
	set.StringVar(&o.ConfigMap, "config-map", o.ConfigMap, "`name` of the ConfigMap with sidecar.yaml; empty: WORKLOAD-sidecar")
	set.StringVar(&o.Secret, "secret", o.Secret, "`name` of the Secret with database-url and the senders' secrets; empty: WORKLOAD-sidecar")
	set.StringVar(&o.SealKeys, "seal-keys", o.SealKeys, "`key` of that Secret which is the file of seal keys: sets SIDECAR_SEAL_KEY_FILE")
	set.Var(single{list{&o.Env}}, "env", "a further setting, `NAME=VALUE`; may be repeated")
	set.StringVar(&o.Resources.CPU, "cpu", o.Resources.CPU, "requested CPU")
	set.StringVar(&o.Resources.Memory, "memory", o.Resources.Memory, "requested memory")
	set.StringVar(&o.Resources.CPULimit, "cpu-limit", o.Resources.CPULimit, "limit of CPU")
	set.StringVar(&o.Resources.MemoryLimit, "memory-limit", o.Resources.MemoryLimit, "limit of memory; half of it is for bodies")
	set.BoolVar(&o.NetworkPolicy, "emit-network-policy", o.NetworkPolicy, "add a NetworkPolicy that closes the application's port")
	set.BoolVar(&o.Clean, "clean", o.Clean, "take out what a cluster wrote into objects that were read from it")
	set.BoolVar(&o.PodsOnly, "pods-only", o.PodsOnly, "leave Services as they are, for the first of two rollouts: see docs/upgrade.md")
	set.BoolVar(&o.AllowEmpty, "allow-empty", o.AllowEmpty, "succeed when nothing is selected")
}

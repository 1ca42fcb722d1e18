package inject

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say what to inject where. Zero values are not defaults: begin with Defaults.
type Options struct {
	// Workloads selects by kind/name, such as deploy/app. Each must be there.
	Workloads []string
	// Selector selects by labels of the workload or its pods: a=b,c=d. A workload that says so in the annotation
	// webhook-sidecar.dev/inject is selected without either.
	Selector string
	// Kinds are further kinds that have a pod template at spec.template: Rollout.argoproj.io.
	Kinds []string

	// Container and Port say what the sidecar stands in front of; empty: what the pod leaves no doubt about.
	Container string
	Port      string
	// Takeover gives the application's port name to the sidecar, and serves headless Services.
	Takeover bool

	// Loopback sets variables of the application, NAME=VALUE, that make it listen on loopback only.
	Loopback []string

	// Native is auto, always or never; KubeVersion decides for auto.
	Native      string
	KubeVersion string

	// Name and Image of the container, and the ports of its three listeners.
	Name       string
	Image      string
	Listen     int
	Admin      int
	Probe      int
	Namespace  string   // of the ledger; empty: the workload's name
	Guard      []string // path prefixes
	ConfigMap  string   // with sidecar.yaml; empty: NAME-sidecar
	Secret     string   // with database-url and the files of the integrations; empty: NAME-sidecar
	SealKeys   string   // key of the Secret that is the file of seal keys; empty: nothing is sealed
	Env        []string // NAME=VALUE, for any other setting
	Resources  Resources
	PullPolicy string

	// NetworkPolicy adds a policy that lets nobody reach other ports of the pods. Clean takes out what a cluster has added
	// to an object that was read from it.
	NetworkPolicy bool
	Clean         bool
	AllowEmpty    bool
	// PodsOnly leaves Services and policies as they are: the first of two rollouts without a gap.
	PodsOnly bool
}

// Resources of the container, as Kubernetes writes them.
type Resources struct {
	CPU, Memory, CPULimit, MemoryLimit string
}

// Defaults are the options of a call without flags.
func Defaults() Options {
	return Options{
		Native: "auto", KubeVersion: "1.33", Name: "sidecar", Image: "webhook-sidecar:latest",
		Listen: 8700, Admin: 8701, Probe: 8702, Guard: []string{"/webhooks"}, Clean: true,
		Resources: Resources{CPU: "50m", Memory: "64Mi", CPULimit: "1", MemoryLimit: "256Mi"},
	}
}

// ErrOptions marks options that contradict themselves or cannot be meant.
var ErrOptions = errors.New("wrong options")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
}

// minor is the minor version of Kubernetes.
func (o Options) minor() (int, error) {
	match := regexp.MustCompile(`^v?1\.(\d+)`).FindStringSubmatch(o.KubeVersion)
	if match == nil {
		return 0, wrong("%q is no version of Kubernetes such as 1.33", o.KubeVersion)
	}
	return strconv.Atoi(match[1])
}

// nativeSince is the version in which init containers may keep running without a feature gate.
const nativeSince = 29

// namesSince is the version since which Services find the port names of such containers.
const namesSince = 32

// Placement tells whether the sidecar becomes an init container that keeps running.
func (o Options) Placement() (bool, error) {
	minor, err := o.minor()
	if err != nil {
		return false, err
	}
	switch o.Native {
	case "auto":
		return minor >= nativeSince, nil
	case "never":
		return false, nil
	case "always":
		if minor < nativeSince {
			return false, wrong("Kubernetes %s has no native sidecars", o.KubeVersion)
		}
		return true, nil
	}
	return false, wrong("native is auto, always or never, not %q", o.Native)
}

func (o Options) check() error {
	if _, err := o.Placement(); err != nil {
		return err
	}
	seen := map[int]bool{}
	for _, port := range []int{o.Listen, o.Admin, o.Probe} {
		if port < 1 || port > 65535 || seen[port] {
			return wrong("port %d: the listeners need three different ports", port)
		}
		seen[port] = true
	}
	for _, prefix := range o.Guard {
		if !strings.HasPrefix(prefix, "/") || strings.ContainsAny(prefix, "?#,") {
			return wrong("guard %q is no path prefix such as /webhooks", prefix)
		}
	}
	if len(o.Guard) == 0 {
		return wrong("a guard is needed: the folder of the routes, such as /webhooks")
	}
	for _, pair := range slices.Concat(o.Env, o.Loopback) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
			return wrong("env %q is not NAME=VALUE", pair)
		}
		if name != drainDelay && name != shutdownTimeout {
			continue
		}
		if took, err := time.ParseDuration(value); err != nil || took < 0 {
			return wrong("env %q: want a time such as 25s", pair)
		}
	}
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`).MatchString(o.Name) {
		return wrong("name %q is no container's name", o.Name)
	}
	if o.Image == "" {
		return wrong("an image is needed")
	}
	if o.SealKeys != "" && !regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`).MatchString(o.SealKeys) {
		return wrong("seal keys %q: want the name of a key of the Secret", o.SealKeys)
	}
	_, err := parseLabels(o.Selector)
	return err
}

// ledger is the namespace of the ledger of a workload.
func (o Options) ledger(workload *object) (string, error) {
	name := o.Namespace
	if name == "" {
		name = strings.ReplaceAll(strings.ToLower(workload.name), ".", "-")
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`).MatchString(name) {
		return "", fmt.Errorf("%q cannot name a ledger: 1 to 40 characters of a-z 0-9 _ -; choose with --ledger-namespace", name)
	}
	return name, nil
}

package inject

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of the sidecar's ports in a pod, at most 15 characters each.
const (
	webhookPort = "sc-webhook"
	probePort   = "sc-probe"
)

// sidecar is the container that is added. Its fields are those of a Kubernetes container, in the order people write them.
type sidecar struct {
	Name            string          `yaml:"name"`
	Image           string          `yaml:"image"`
	ImagePullPolicy string          `yaml:"imagePullPolicy,omitempty"`
	RestartPolicy   string          `yaml:"restartPolicy,omitempty"`
	Args            []string        `yaml:"args"`
	Ports           []sidecarPort   `yaml:"ports"`
	Env             []sidecarEnv    `yaml:"env"`
	Resources       sidecarResource `yaml:"resources"`
	StartupProbe    sidecarProbe    `yaml:"startupProbe"`
	ReadinessProbe  sidecarProbe    `yaml:"readinessProbe"`
	LivenessProbe   sidecarProbe    `yaml:"livenessProbe"`
	SecurityContext securityContext `yaml:"securityContext"`
	VolumeMounts    []volumeMount   `yaml:"volumeMounts"`
}

type sidecarPort struct {
	Name   string `yaml:"name"`
	Number int    `yaml:"containerPort"`
}

type sidecarEnv struct {
	Name  string       `yaml:"name"`
	Value string       `yaml:"value,omitempty"`
	From  *valueSource `yaml:"valueFrom,omitempty"`
}

type valueSource struct {
	Secret secretKey `yaml:"secretKeyRef"`
}

type secretKey struct {
	Name     string `yaml:"name"`
	Key      string `yaml:"key"`
	Optional bool   `yaml:"optional,omitempty"`
}

type sidecarResource struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits"`
}

type sidecarProbe struct {
	Get struct {
		Path string `yaml:"path"`
		Port int    `yaml:"port"`
	} `yaml:"httpGet"`
	Period   int `yaml:"periodSeconds"`
	Failures int `yaml:"failureThreshold"`
}

type securityContext struct {
	Escalation   bool                `yaml:"allowPrivilegeEscalation"`
	Capabilities map[string][]string `yaml:"capabilities"`
	ReadOnly     bool                `yaml:"readOnlyRootFilesystem"`
	NonRoot      bool                `yaml:"runAsNonRoot"`
	User         int                 `yaml:"runAsUser"`
	Group        int                 `yaml:"runAsGroup"`
	Seccomp      map[string]string   `yaml:"seccompProfile"`
}

type volumeMount struct {
	Name     string `yaml:"name"`
	Path     string `yaml:"mountPath"`
	ReadOnly bool   `yaml:"readOnly"`
}

// secretsPath is where the Secret's keys are files.
const secretsPath = "/run/secrets"

// unprivileged is the user of the image.
const unprivileged = 65532

// sidecar makes the container for a workload. portName is the name of the public listener's port.
func (w *workload) sidecar(o Options, portName string) sidecar {
	c := sidecar{
		Name: o.Name, Image: o.Image, ImagePullPolicy: o.PullPolicy, Args: []string{"run"},
		Ports: []sidecarPort{{portName, o.Listen}, {probePort, o.Probe}},
		Env:   w.env(o),
		Resources: sidecarResource{
			Requests: map[string]string{"cpu": o.Resources.CPU, "memory": o.Resources.Memory},
			Limits:   map[string]string{"cpu": o.Resources.CPULimit, "memory": o.Resources.MemoryLimit},
		},
		// The start waits for listeners, not for the database, nor for the application, which starts after a native sidecar.
		StartupProbe:   newProbe("/livez", o.Probe, 1, 60),
		ReadinessProbe: newProbe("/readyz", o.Probe, 5, 2),
		LivenessProbe:  newProbe("/livez", o.Probe, 10, 6),
		SecurityContext: securityContext{
			Capabilities: map[string][]string{"drop": {"ALL"}}, ReadOnly: true, NonRoot: true,
			User: unprivileged, Group: unprivileged, Seccomp: map[string]string{"type": "RuntimeDefault"},
		},
		VolumeMounts: []volumeMount{
			{o.Name + "-config", "/etc/sidecar", true}, {o.Name + "-secrets", secretsPath, true},
		},
	}
	if w.native {
		c.RestartPolicy = "Always"
	}
	return c
}

func newProbe(path string, port, period, failures int) sidecarProbe {
	p := sidecarProbe{Period: period, Failures: failures}
	p.Get.Path, p.Get.Port = path, port
	return p
}

// env is the environment of the container. What --env names again gives way to it.
func (w *workload) env(o Options) []sidecarEnv {
	secret := w.names(o).secret
	env := []sidecarEnv{
		{Name: "SIDECAR_LISTEN", Value: ":" + strconv.Itoa(o.Listen)},
		{Name: "SIDECAR_ADMIN_LISTEN", Value: "127.0.0.1:" + strconv.Itoa(o.Admin)},
		{Name: "SIDECAR_PROBE_LISTEN", Value: ":" + strconv.Itoa(o.Probe)},
		{Name: "SIDECAR_UPSTREAM", Value: fmt.Sprintf("http://localhost:%d", w.port)},
		{Name: "SIDECAR_NAMESPACE", Value: w.ledger},
		{Name: "SIDECAR_GUARD", Value: strings.Join(o.Guard, ",")},
		{Name: "DATABASE_URL", From: &valueSource{secretKey{Name: secret, Key: "database-url"}}},
		{Name: "REDIS_URL", From: &valueSource{secretKey{Name: secret, Key: "redis-url", Optional: true}}},
	}
	if o.SealKeys != "" {
		env = append(env, sidecarEnv{Name: "SIDECAR_SEAL_KEY_FILE", Value: secretsPath + "/" + o.SealKeys})
	}
	for _, pair := range o.Env {
		name, value, _ := strings.Cut(pair, "=")
		env = setEnv(env, sidecarEnv{Name: name, Value: value})
	}
	return env
}

func setEnv(env []sidecarEnv, one sidecarEnv) []sidecarEnv {
	for i := range env {
		if env[i].Name == one.Name {
			env[i] = one
			return env
		}
	}
	return append(env, one)
}

// references are the names of what the container takes its files and settings from.
type references struct{ configMap, secret string }

func (w *workload) names(o Options) references {
	r := references{o.ConfigMap, o.Secret}
	if r.configMap == "" {
		r.configMap = w.object.name + "-sidecar"
	}
	if r.secret == "" {
		r.secret = w.object.name + "-sidecar"
	}
	return r
}

// volumes are the files of the container. Everybody in the pod's namespace of users may read them: the container is not
// root, and file modes are all that it has.
func (w *workload) volumes(o Options) []any {
	names := w.names(o)
	return []any{
		configVolume{o.Name + "-config", configSource{names.configMap}},
		secretVolume{o.Name + "-secrets", secretSource{names.secret}},
	}
}

type configVolume struct {
	Name   string       `yaml:"name"`
	Source configSource `yaml:"configMap"`
}

type configSource struct {
	Name string `yaml:"name"`
}

type secretVolume struct {
	Name   string       `yaml:"name"`
	Source secretSource `yaml:"secret"`
}

type secretSource struct {
	Name string `yaml:"secretName"`
}

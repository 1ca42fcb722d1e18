package charts

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	sigs "sigs.k8s.io/yaml"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

func example(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(root + "examples/values-sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

const inline = `
workload: app
podLabels: {app: app}
integrations:
  - {account: acme, name: payments, route: /webhooks/acme/stripe, provider: stripe, credentials: [{id: k, secret: {file: /run/secrets/k}}]}
auth: {databaseUrl: "postgres://u:p@db/x", redisUrl: "redis://r", files: {k: "whsec_x"}}
migrations: {job: {enabled: true}}
`

func TestTheExampleRendersStrictly(t *testing.T) {
	stream := rendered(t, "sidecar", example(t))
	if secrets := find[*core.Secret](t, stream); len(secrets) != 0 {
		t.Error("an existing Secret is written anew")
	}
	config := find[*core.ConfigMap](t, stream)
	if len(config) != 1 || config[0].Name != "app-sidecar" || !strings.Contains(config[0].Data["sidecar.yaml"], "route: /webhooks/acme/stripe") {
		t.Errorf("the integrations are in %v", config)
	}
	if monitors := find[*monitoring.PodMonitor](t, stream); len(monitors) != 1 || *monitors[0].Spec.PodMetricsEndpoints[0].Port != "sc-probe" {
		t.Errorf("monitors %v", monitors)
	}
	if jobs := find[*batch.Job](t, stream); len(jobs) != 0 {
		t.Error("the migration job was not asked for")
	}
}

func TestSecretsFromValues(t *testing.T) {
	stream := rendered(t, "sidecar", inline)
	secrets := find[*core.Secret](t, stream)
	want := map[string]string{"database-url": "postgres://u:p@db/x", "redis-url": "redis://r", "k": "whsec_x"}
	if len(secrets) != 1 || secrets[0].Name != "app-sidecar" || !maps.Equal(secrets[0].StringData, want) {
		t.Errorf("got %v", secrets)
	}
	jobs := find[*batch.Job](t, stream)
	if len(jobs) != 1 || !slices.Equal(jobs[0].Spec.Template.Spec.Containers[0].Args, []string{"migrate"}) {
		t.Fatalf("jobs %v", jobs)
	}
	if jobs[0].Annotations["helm.sh/hook"] != "post-install,pre-upgrade" {
		t.Errorf("the job is no hook: %v", jobs[0].Annotations)
	}
}

// As a hook the job may run before anything of the chart is there. A volume that is not there would hold it until its deadline.
func TestTheMigrationMountsSecretsOnly(t *testing.T) {
	job := find[*batch.Job](t, rendered(t, "sidecar", strings.Replace(inline, "enabled: true", "enabled: true, hook: pre-install", 1)))[0]
	pod := job.Spec.Template.Spec
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != "app-sidecar" {
		t.Errorf("the volumes are %v", pod.Volumes)
	}
	mounts := pod.Containers[0].VolumeMounts
	if len(mounts) != 1 || mounts[0].Name != pod.Volumes[0].Name || mounts[0].MountPath != "/run/secrets" {
		t.Errorf("mounted are %v", mounts)
	}
	check := find[*core.Pod](t, rendered(t, "sidecar", inline))[0].Spec
	if len(check.Volumes) != 2 || len(check.Containers[0].VolumeMounts) != 2 {
		t.Errorf("the test sees %v", check.Volumes)
	}
}

func TestThePolicyOpensTheSidecarOnly(t *testing.T) {
	policies := find[*networking.NetworkPolicy](t, rendered(t, "sidecar", example(t)))
	if len(policies) != 1 {
		t.Fatalf("%d policies", len(policies))
	}
	var ports []int32
	for _, rule := range policies[0].Spec.Ingress {
		if len(rule.Ports) == 0 {
			t.Error("a rule opens every port")
		}
		for _, port := range rule.Ports {
			ports = append(ports, port.Port.IntVal)
		}
	}
	if !slices.Equal(ports, []int32{8700, 8702}) {
		t.Errorf("open are %v", ports)
	}
	if len(policies[0].Spec.Ingress[0].From) != 1 {
		t.Error("everybody may deliver")
	}
}

// What the values' own words give as an example is a rule, and opens what it says.
func TestThePolicyOpensOtherPorts(t *testing.T) {
	more := example(t) + "\nnetworkPolicy: {extraIngress: [{ports: [{port: 9090, protocol: TCP}], from: [{podSelector: {}}]}]}\n"
	rules := find[*networking.NetworkPolicy](t, rendered(t, "sidecar", more))[0].Spec.Ingress
	last := rules[len(rules)-1]
	if len(rules) != 3 || len(last.Ports) != 1 || last.Ports[0].Port.IntVal != 9090 || len(last.From) != 1 || last.From[0].PodSelector == nil {
		t.Errorf("the rules are %+v", rules)
	}
}

// A job's name is a label of its pods: longer than 63 characters there is no job.
func TestTheMigrationOfALongNameIsAJob(t *testing.T) {
	for length := 1; length <= 55; length++ {
		name := strings.Repeat("a-b.c", 11)[:length]
		if last := name[length-1]; last == '-' || last == '.' {
			continue
		}
		stream := rendered(t, "sidecar", strings.Replace(inline, "workload: app", "workload: "+name, 1))
		job := find[*batch.Job](t, stream)[0].Name
		if len(job) > 63 || !strings.HasSuffix(job, "-migrate") || strings.Contains(job, "--") || strings.Contains(job, ".-") {
			t.Errorf("%s: %s has %d characters", name, job, len(job))
		}
	}
}

func TestDisabledLeavesNothing(t *testing.T) {
	if stream := rendered(t, "sidecar", "enabled: false"); len(documents(t, []byte(stream))) != 0 {
		t.Errorf("left is %s", stream)
	}
}

func TestPodsOfTheChartAreRestricted(t *testing.T) {
	stream := rendered(t, "sidecar", inline)
	var specs []core.PodSpec
	for _, job := range find[*batch.Job](t, stream) {
		specs = append(specs, job.Spec.Template.Spec)
	}
	for _, pod := range find[*core.Pod](t, stream) {
		specs = append(specs, pod.Spec)
	}
	if len(specs) != 2 {
		t.Fatalf("%d pods, want the job's and the test's", len(specs))
	}
	for _, spec := range specs {
		for _, one := range spec.Containers {
			context := one.SecurityContext
			if !*context.RunAsNonRoot || *context.RunAsUser != 65532 || *context.AllowPrivilegeEscalation || !*context.ReadOnlyRootFilesystem {
				t.Errorf("%s runs with %+v", one.Name, context)
			}
			if one.Resources.Limits.Memory().IsZero() || one.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s has no resources", one.Name)
			}
		}
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"no workload":          {"{}", "workload is required"},
		"no integrations":      {"{workload: app, podLabels: {a: b}, auth: {existingSecret: s}}", "integrations is required"},
		"no database":          {"{workload: app, podLabels: {a: b}, existingConfigMap: c}", "auth.databaseUrl is required"},
		"no labels":            {"{workload: app, existingConfigMap: c, auth: {existingSecret: s}}", "podLabels is required"},
		"a slip in a key":      {"{workload: app, networkPolicies: {}}", "networkPolicies"},
		"a slip deeper":        {"{workload: app, auth: {existingSecretName: s}}", "existingSecretName"},
		"a relative guard":     {"{workload: app, guard: [hooks]}", "guard"},
		"no credentials":       {"{workload: app, integrations: [{account: a, name: b, route: /c, provider: stripe}]}", "credentials"},
		"a key file elsewhere": {"{workload: app, auth: {sealKeys: ../keys}}", "sealKeys"},
		"a rule without ports": {"{workload: app, networkPolicy: {extraIngress: [{from: [{podSelector: {}}]}]}}", "ports"},
		"a rule of no ports":   {"{workload: app, networkPolicy: {extraIngress: [{ports: []}]}}", "ports"},
		"a port as a rule":     {"{workload: app, networkPolicy: {extraIngress: [{port: 9090, protocol: TCP}]}}", "ports"},
		"a port that is none":  {"{workload: app, networkPolicy: {extraIngress: [{ports: [{protocol: TCP}]}]}}", "port"},
		"a share that is none": {"{workload: app, prometheusRule: {rejectionShare: 20}}", "rejectionShare"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render("sidecar", values(t, test.values))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// The job and the test open what the sidecars sealed: they have the same file of keys, among the mounted secrets.
func TestSealKeysAreAMountedFile(t *testing.T) {
	stream := rendered(t, "sidecar", strings.Replace(inline, `files: {k: "whsec_x"}`, `files: {k: "whsec_x", seal-keys: "off"}, sealKeys: seal-keys`, 1))
	var containers []core.Container
	for _, job := range find[*batch.Job](t, stream) {
		containers = append(containers, job.Spec.Template.Spec.Containers...)
	}
	for _, pod := range find[*core.Pod](t, stream) {
		containers = append(containers, pod.Spec.Containers...)
	}
	if len(containers) != 3 {
		t.Fatalf("%d containers", len(containers))
	}
	want := core.EnvVar{Name: "SIDECAR_SEAL_KEY_FILE", Value: "/run/secrets/seal-keys"}
	for _, one := range containers {
		if !slices.Contains(one.Env, want) {
			t.Errorf("%s has %v", one.Name, one.Env)
		}
	}
	if secrets := find[*core.Secret](t, stream); len(secrets) != 1 || secrets[0].StringData["seal-keys"] == "" {
		t.Errorf("the keys are not mounted: %v", secrets)
	}
	if strings.Contains(rendered(t, "sidecar", inline), want.Name) {
		t.Error("set without a file")
	}
}

// As a dependency a chart gets "global", and "enabled" is a usual condition; a strict schema must allow both.
func TestAsADependency(t *testing.T) {
	stream := rendered(t, "sidecar", strings.Replace(inline, "workload: app", "workload: app\nglobal: {imageRegistry: x}\nenabled: true", 1))
	if len(find[*core.ConfigMap](t, stream)) != 1 {
		t.Error("the chart renders nothing")
	}
}

// The library and sidecar inject must not drift apart: they are two ways to the same pod.
func TestTheLibraryIsWhatInjectAdds(t *testing.T) {
	plain, err := os.ReadFile("../../internal/inject/testdata/shapes/scaffold/in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []string{"", "seal-keys"} {
		own := find[*apps.Deployment](t, rendered(t, "examples/own-chart", "sidecar: {sealKeys: "+strconv.Quote(keys)+"}"))[0]
		options := inject.Defaults()
		options.Workloads, options.Image, options.SealKeys = []string{"deploy/web"}, "webhook-sidecar:0.1.0", keys
		result, err := inject.Inject(plain, options)
		if err != nil {
			t.Fatal(err)
		}
		injected := find[*apps.Deployment](t, string(result.Output))[0]
		if got, want := own.Spec.Template.Spec.InitContainers, injected.Spec.Template.Spec.InitContainers; !reflect.DeepEqual(got, want) {
			gotText, _ := sigs.Marshal(got)
			wantText, _ := sigs.Marshal(want)
			t.Errorf("the containers differ:\n%s", inject.Diff("inject", "library", string(wantText), string(gotText)))
		}
		if got, want := own.Spec.Template.Spec.Volumes, injected.Spec.Template.Spec.Volumes; !reflect.DeepEqual(got, want) {
			t.Errorf("the volumes differ: %v and %v", got, want)
		}
	}
	found, err := inject.Check([]byte(rendered(t, "examples/own-chart", "{}")), inject.Defaults())
	if err != nil || len(found.Open) > 0 {
		t.Errorf("a way round is open in the library's example: %v, %v", found.Open, err)
	}
}

// The example of a chart that somebody else owns, injected as a post-renderer would, with its hook.
func TestTheExampleApplicationIsInjected(t *testing.T) {
	before := rendered(t, "examples/app", "{}")
	options := inject.Defaults()
	options.Workloads = []string{"deploy/app"}
	result, err := inject.Inject([]byte(before), options)
	if err != nil {
		t.Fatal(err)
	}
	stream := string(result.Output)
	if port := find[*core.Service](t, stream)[0].Spec.Ports[0]; port.TargetPort.IntVal != 8700 {
		t.Errorf("the Service leads to %v", port.TargetPort)
	}
	if hooks := find[*batch.Job](t, stream); len(hooks[0].Spec.Template.Spec.InitContainers) != 0 {
		t.Error("the hook has a sidecar")
	}
	component, err := result.Kustomize()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, root+"kustomize/component/kustomization.yaml",
		"# Generated from charts/examples/app; see README.md.\n"+component)
}

func TestAlertsAreWellFormedAndNameRealMetrics(t *testing.T) {
	known := metricNames(t)
	for name, text := range map[string]string{
		"by integration": example(t),
		"for all":        "{workload: app, podLabels: {a: b}, existingConfigMap: c, auth: {existingSecret: s}, prometheusRule: {enabled: true}}",
	} {
		t.Run(name, func(t *testing.T) {
			rules := find[*monitoring.PrometheusRule](t, rendered(t, "sidecar", text))
			if len(rules) != 1 || len(rules[0].Spec.Groups[0].Rules) < 7 {
				t.Fatalf("got %v", rules)
			}
			for _, rule := range rules[0].Spec.Groups[0].Rules {
				expression := rule.Expr.StrVal
				if _, err := metricsql.Parse(expression); err != nil {
					t.Errorf("%s: %v in %s", rule.Alert, err, expression)
				}
				for _, metric := range regexp.MustCompile(`webhook_[a-z_]+`).FindAllString(expression, -1) {
					if !slices.Contains(known, strings.TrimSuffix(metric, "_bucket")) {
						t.Errorf("%s: nobody writes %s", rule.Alert, metric)
					}
				}
				if rule.Labels["owner"] == "" || rule.Labels["severity"] == "" {
					t.Errorf("%s has labels %v", rule.Alert, rule.Labels)
				}
			}
		})
	}
	owners := find[*monitoring.PrometheusRule](t, rendered(t, "sidecar", example(t)))[0].Spec.Groups[0].Rules
	if owners[0].Labels["owner"] != "payments-oncall" || !strings.Contains(owners[0].Expr.StrVal, `integration="acme/payments"`) {
		t.Errorf("the integration's owner is not asked: %+v", owners[0])
	}
}

// metricNames are the names of the metrics in docs/telemetry.md, which a test beside the instruments compares with what they
// write.
func metricNames(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(webhook_[a-z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		names = append(names, row[1])
	}
	return names
}

// Every value has a place in the schema, and the other way round.
func TestSchemaAndValuesAgree(t *testing.T) {
	var schema map[string]any
	content, err := os.ReadFile(root + "sidecar/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(root + "sidecar/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	delete(schema["properties"].(map[string]any), "sidecar-lib") // Helm adds the dependency's values
	agree(t, "", schema, values(t, string(file)))
}

func agree(t *testing.T, at string, schema, values map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	if schema["additionalProperties"] != false {
		return
	}
	if got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(values)); !slices.Equal(got, want) {
		t.Errorf("%s: the schema has %v, the values %v", at, got, want)
	}
	for key, value := range values {
		if deeper, is := value.(map[string]any); is {
			agree(t, at+"."+key, properties[key].(map[string]any), deeper)
		}
	}
}

package inject_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/webhook-sidecar/webhook-sidecar/internal/inject"
)

// app is the least that has a pod template; %s is more of its pod spec, indented by six.
func app(kind, name, more string) string {
	return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\nspec:\n  selector:\n    matchLabels: {app: " + name +
		"}\n  template:\n    metadata:\n      labels: {app: " + name + "}\n    spec:\n" + more +
		"      containers:\n      - name: app\n        image: shop/app:1\n        ports:\n        - {name: http, containerPort: 8080}\n"
}

func options(change func(*inject.Options)) inject.Options {
	o := inject.Defaults()
	o.Workloads = []string{"deploy/app"}
	if change != nil {
		change(&o)
	}
	return o
}

func TestNothingIsInjectedByAccident(t *testing.T) {
	deployment := app("Deployment", "app", "")
	for name, test := range map[string]struct {
		input  string
		change func(*inject.Options)
		want   error
	}{
		"no selection":             {deployment, func(o *inject.Options) { o.Workloads = nil }, inject.ErrNoMatch},
		"another name":             {deployment, func(o *inject.Options) { o.Workloads = []string{"deploy/ap"} }, inject.ErrNoMatch},
		"another kind":             {deployment, func(o *inject.Options) { o.Workloads = []string{"sts/app"} }, inject.ErrNoMatch},
		"one of two is missing":    {deployment, func(o *inject.Options) { o.Workloads = []string{"deploy/app", "deploy/b"} }, inject.ErrNoMatch},
		"other labels":             {deployment, func(o *inject.Options) { o.Workloads, o.Selector = nil, "app=b" }, inject.ErrNoMatch},
		"an empty stream":          {"", nil, inject.ErrNoMatch},
		"comments only":            {"# nothing\n---\n# here\n", nil, inject.ErrNoMatch},
		"another API's Deployment": {strings.Replace(deployment, "apps/v1", "example.com/v1", 1), nil, inject.ErrNoMatch},
		"a native sidecar on 1.28": {deployment, func(o *inject.Options) { o.Native, o.KubeVersion = "always", "1.28" }, inject.ErrOptions},
		"a selector of no sense":   {deployment, func(o *inject.Options) { o.Selector = "a" }, inject.ErrOptions},
		"a relative guard":         {deployment, func(o *inject.Options) { o.Guard = []string{"hooks"} }, inject.ErrOptions},
		"no guard":                 {deployment, func(o *inject.Options) { o.Guard = nil }, inject.ErrOptions},
		"one port for two":         {deployment, func(o *inject.Options) { o.Probe = o.Listen }, inject.ErrOptions},
		"seal keys elsewhere":      {deployment, func(o *inject.Options) { o.SealKeys = "../keys" }, inject.ErrOptions},
		"an end without a time":    {deployment, func(o *inject.Options) { o.Env = []string{"SIDECAR_SHUTDOWN_TIMEOUT=soon"} }, inject.ErrOptions},
		"a setting without value":  {deployment, func(o *inject.Options) { o.Env = []string{"X"} }, inject.ErrOptions},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := inject.Inject([]byte(test.input), options(test.change))
			if !errors.Is(err, test.want) || result.Output != nil {
				t.Errorf("got %v and %q, want %v", err, result.Output, test.want)
			}
		})
	}
}

func TestAnEmptyMatchIsAllowedWhereItIsWanted(t *testing.T) {
	input := app("Deployment", "app", "")
	result, err := inject.Inject([]byte(input), options(func(o *inject.Options) { o.Workloads, o.AllowEmpty = nil, true }))
	if err != nil || string(result.Output) != input {
		t.Errorf("got %v, %q", err, result.Output)
	}
}

func TestWhatCannotBeGuardedIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		input, want string
		change      func(*inject.Options)
	}{
		"a host port": {strings.Replace(app("Deployment", "app", ""), "containerPort: 8080", "containerPort: 8080, hostPort: 80", 1), "hostPort 80", nil},
		"two candidates": {app("Deployment", "app", "") + "      - name: b\n        image: b\n        ports: [{containerPort: 1}]\n",
			"--container", nil},
		"an unknown port":      {app("Deployment", "app", ""), `no port "web"`, func(o *inject.Options) { o.Port = "web" }},
		"an unknown container": {app("Deployment", "app", ""), `no container "web"`, func(o *inject.Options) { o.Container = "web" }},
		"no port at all":       {strings.Replace(app("Deployment", "app", ""), "{name: http, containerPort: 8080}", "{}", 1), "--port", nil},
		"a port to take over without a name": {strings.Replace(app("Deployment", "app", ""), "name: http, ", "", 1), "no name to take over",
			func(o *inject.Options) { o.Takeover = true }},
		"a name that is no ledger": {app("Deployment", strings.Repeat("a", 41), ""), "--ledger-namespace",
			func(o *inject.Options) { o.Workloads = []string{"deploy/" + strings.Repeat("a", 41)} }},
		"our volume's name": {app("Deployment", "app", "      volumes: [{name: sidecar-config}]\n"), "volume named sidecar-config", nil},
		"containers behind an alias": {"x: &c\n- {name: app, image: a, ports: [{containerPort: 1}]}\n" +
			strings.Split(app("Deployment", "app", ""), "      containers:")[0] + "      containers: *c\n", "alias",
			func(o *inject.Options) { o.Native = "never" }},
		"a policy beside JSON": {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"name":"p","ports":[{"containerPort":80}]}]}}`,
			"YAML documents only", func(o *inject.Options) { o.Workloads, o.NetworkPolicy = []string{"pod/p"}, true }},
		"a key twice":     {app("Deployment", "app", "      dnsPolicy: A\n      dnsPolicy: B\n"), "already defined", nil},
		"not YAML":        {"a: [\n", "document 1", nil},
		"a newer version": {strings.Replace(app("Deployment", "app", ""), "      labels:", "      annotations: {webhook-sidecar.dev/injected: '{\"v\":2}'}\n      labels:", 1), "version 2", nil},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := inject.Inject([]byte(test.input), options(test.change))
			if err == nil || !strings.Contains(err.Error(), test.want) || result.Output != nil {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestWhatIsLeftAloneIsSaid(t *testing.T) {
	for name, test := range map[string]struct{ input, want string }{
		"a hook":         {strings.Replace(app("Deployment", "b", ""), "metadata:\n", "metadata:\n  annotations: {helm.sh/hook: test}\n", 1), "a Helm hook"},
		"an owned set":   {strings.Replace(app("ReplicaSet", "b", ""), "metadata:\n", "metadata:\n  ownerReferences: [{controller: true}]\n", 1), "made by a controller"},
		"a disabled one": {strings.Replace(app("Deployment", "b", ""), "metadata:\n", "metadata:\n  annotations: {webhook-sidecar.dev/inject: disabled}\n", 1), "says disabled"},
		"a disabled pod": {strings.Replace(app("Deployment", "b", ""), "      labels:", "      annotations: {webhook-sidecar.dev/inject: disabled}\n      labels:", 1), "says disabled"},
		"a job":          {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\n", "nothing is delivered to a job"},
	} {
		t.Run(name, func(t *testing.T) {
			input := app("Deployment", "app", "") + "---\n" + test.input
			result, err := inject.Inject([]byte(input), options(func(o *inject.Options) { o.Selector = "app=b" }))
			if err != nil || !strings.HasSuffix(string(result.Output), test.input) {
				t.Fatalf("got %v, %s", err, result.Output)
			}
			if report := lines(result.Notes); !strings.Contains(report, "/b: skipped: ") || !strings.Contains(report, test.want) {
				t.Errorf("the report says %s", report)
			}
		})
	}
}

func lines(notes []inject.Note) string {
	var all strings.Builder
	for _, note := range notes {
		all.WriteString(note.String() + "\n")
	}
	return all.String()
}

func TestAProbeThatNamesAMissingPortIsFound(t *testing.T) {
	input := app("Deployment", "app", "") + "        livenessProbe: {httpGet: {port: web, path: /}}\n"
	result, err := inject.Inject([]byte(input), options(nil))
	if err != nil || !strings.Contains(lines(result.Notes), "names port web, which that container does not have") {
		t.Errorf("got %v, %s", err, lines(result.Notes))
	}
}

func TestANewSelectionKeepsTheOldInjection(t *testing.T) {
	input := app("Deployment", "app", "") + "---\n" + app("StatefulSet", "db", "")
	first, err := inject.Inject([]byte(input), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	both, err := inject.Inject(first.Output, options(func(o *inject.Options) { o.Workloads = []string{"sts/db"} }))
	if err != nil || !strings.HasPrefix(string(both.Output), strings.Split(string(first.Output), "---\n")[0]) {
		t.Errorf("got %v, %s", err, both.Output)
	}
	thereAndBack(t, []byte(input), both.Output, options(func(o *inject.Options) { o.Workloads = []string{"deploy/app", "sts/db"} }))
}

func TestOtherFlagsChangeAnInjectionInPlace(t *testing.T) {
	input := app("Deployment", "app", "") + "---\n" + string(serviceOf("app"))
	first, err := inject.Inject([]byte(input), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	other := options(func(o *inject.Options) {
		o.Native, o.Listen, o.Takeover, o.NetworkPolicy, o.Name = "never", 9700, true, true, "guard"
	})
	second, err := inject.Inject(first.Output, other)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := inject.Inject([]byte(input), other)
	if err != nil || string(second.Output) != string(direct.Output) {
		t.Errorf("%v: %s", err, inject.Diff("direct", "second", string(direct.Output), string(second.Output)))
	}
	thereAndBack(t, []byte(input), second.Output, other)
	again, err := inject.Inject(second.Output, options(nil))
	if err != nil || string(again.Output) != string(first.Output) {
		t.Errorf("%v: %s", err, inject.Diff("first", "again", string(first.Output), string(again.Output)))
	}
}

func TestTheApplicationIsToldToListenOnLoopback(t *testing.T) {
	for name, env := range map[string]string{
		"without variables": "", "among others": "        env:\n        - {name: A, value: b}\n",
		"with another value": "        env:\n        - name: HOST\n          value: '0.0.0.0'  # all\n", "with none": "        env:\n        - name: HOST\n",
	} {
		t.Run(name, func(t *testing.T) {
			input := app("Deployment", "app", "") + env
			o := options(func(o *inject.Options) { o.Loopback = []string{"HOST=127.0.0.1"} })
			result, err := inject.Inject([]byte(input), o)
			if err != nil || !strings.Contains(string(result.Output), "name: HOST\n          value: 127.0.0.1") {
				t.Fatalf("got %v, %s", err, result.Output)
			}
			thereAndBack(t, []byte(input), result.Output, o)
		})
	}
	probed := app("Deployment", "app", "") + "        readinessProbe: {tcpSocket: {port: http}}\n"
	if _, err := inject.Inject([]byte(probed), options(func(o *inject.Options) { o.Loopback = []string{"HOST=::1"} })); err == nil {
		t.Error("an application that the kubelet asks over the network was moved to loopback")
	}
}

// The first of two rollouts brings the sidecar into the pods, the second leads the Services to it; and back the same way.
func TestPodsFirst(t *testing.T) {
	input := app("Deployment", "app", "") + "---\n" + string(serviceOf("app"))
	podsOnly := options(func(o *inject.Options) { o.PodsOnly = true })
	first, err := inject.Inject([]byte(input), podsOnly)
	if err != nil || !strings.HasSuffix(string(first.Output), string(serviceOf("app"))) || !strings.Contains(lines(first.Notes), "nothing is guarded yet") {
		t.Fatalf("got %v, %s", err, first.Output)
	}
	second, err := inject.Inject(first.Output, options(nil))
	if err != nil || !strings.Contains(string(second.Output), "targetPort: 8700") {
		t.Fatalf("got %v, %s", err, second.Output)
	}
	back, err := inject.Inject(second.Output, podsOnly)
	if err != nil || string(back.Output) != string(first.Output) {
		t.Errorf("got %v, %s", err, back.Output)
	}
	if found, err := inject.Check(first.Output, options(nil)); err != nil || len(found.Open) != 1 {
		t.Errorf("the open Service is not found: %v, %v", found, err)
	}
}

func serviceOf(name string) []byte {
	return []byte("apiVersion: v1\nkind: Service\nmetadata:\n  name: " + name + "\nspec:\n  selector:\n    app: " + name +
		"\n  ports:\n  - port: 80\n    targetPort: http\n")
}

func TestWhatOthersAddedSinceStays(t *testing.T) {
	input := app("Deployment", "app", "")
	injected, err := inject.Inject([]byte(input), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	text := string(injected.Output)
	text = strings.Replace(text, "      volumes:\n", "      volumes:\n      - name: theirs\n        emptyDir: {}\n", 1)
	text = strings.Replace(text, "      initContainers:\n", "      initContainers:\n      - name: theirs\n        image: x\n", 1)
	text = strings.Replace(text, "      annotations:\n", "      annotations:\n        theirs: yes\n", 1)
	back, err := inject.Uninject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := string(back.Output)
	if strings.Contains(got, "sidecar") || strings.Count(got, "theirs") != 3 {
		t.Errorf("left is\n%s", got)
	}
}

func TestObjectsFromAClusterAreCleaned(t *testing.T) {
	input := strings.Replace(app("Deployment", "app", ""), "metadata:\n",
		"metadata:\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  generation: 2\n  resourceVersion: \"12\"\n  uid: 1-2\n  managedFields:\n  - manager: x\n", 1) +
		"status:\n  replicas: 1\n"
	result, err := inject.Inject([]byte(input), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"uid", "generation", "resourceVersion", "managedFields", "status", "creationTimestamp"} {
		if strings.Contains(string(result.Output), gone+":") {
			t.Errorf("%s is still there", gone)
		}
	}
	back, err := inject.Uninject(result.Output)
	if err != nil || string(back.Output) != app("Deployment", "app", "") {
		t.Errorf("got %v, %s", err, back.Output)
	}
	kept, err := inject.Inject([]byte(input), options(func(o *inject.Options) { o.Clean = false }))
	if err != nil || !strings.Contains(string(kept.Output), "uid: 1-2") {
		t.Errorf("got %v without cleaning", err)
	}
}

// policy is a NetworkPolicy for some pods, with one rule.
func policy(selector, rule string) string {
	return "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: n}\nspec:\n  podSelector: " + selector +
		"\n  policyTypes: [Ingress]\n  ingress: [" + rule + "]\n"
}

// guarded is a Deployment with the sidecar and its Service.
func guarded(t *testing.T) string {
	t.Helper()
	result, err := inject.Inject([]byte(app("Deployment", "app", "")+"---\n"+string(serviceOf("app"))), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Output)
}

func TestWaysRoundAreFound(t *testing.T) {
	good := guarded(t)
	const pods = "{matchLabels: {app: app}}"
	for name, test := range map[string]struct{ input, want string }{
		"a Service by name":         {strings.Replace(good, "targetPort: 8700", "targetPort: http", 1), "service/app port 80 reaches port 8080"},
		"a Service by number":       {strings.Replace(good, "targetPort: 8700", "targetPort: 8080", 1), "reaches port 8080"},
		"another Service":           {good + "---\n" + strings.Replace(string(serviceOf("app")), "name: app", "name: b", 1), "service/b port 80"},
		"a port name that is twice": {strings.Replace(good, "sc-webhook", "http", 1), "two ports named http"},
		"the host's network":        {strings.Replace(good, "      containers:", "      hostNetwork: true\n      containers:", 1), "hostNetwork"},
		"the host's port":           {strings.Replace(good, "containerPort: 8080}", "containerPort: 8080, hostPort: 8080}", 1), "hostPort 8080"},
		"a policy":                  {good + policy(pods, "{ports: [{port: 8080}]}"), "networkpolicy/n opens port 8080"},
		"a policy by name":          {good + policy(pods, "{ports: [{port: http}]}"), "networkpolicy/n opens port 8080"},
		"a range":                   {good + policy(pods, "{ports: [{port: 8000, endPort: 9000}]}"), "networkpolicy/n opens port 8080"},
		"a rule for every port":     {good + policy(pods, "{from: [{podSelector: {}}]}"), "networkpolicy/n opens every port of deployment/app, 8080 included"},
		"a rule that says nothing":  {good + policy(pods, "{}"), "every port"},
		"a whole protocol":          {good + policy(pods, "{ports: [{protocol: TCP}]}"), "opens port 8080"},
		"a policy for all pods":     {good + policy("{}", "{}"), "every port"},
		"a policy by expressions":   {good + policy("{matchExpressions: [{key: app, operator: In, values: [b, app]}]}", "{}"), "every port"},
		"no sidecar":                {app("Deployment", "app", ""), "deployment/app has no sidecar"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := inject.Check([]byte(test.input), options(nil))
			if err != nil || len(found.Open) != 1 || !strings.Contains(found.Open[0], test.want) {
				t.Errorf("got %v, %v, want %s", found, err, test.want)
			}
		})
	}
	if found, err := inject.Check([]byte(good), inject.Defaults()); err != nil || len(found.Open) != 0 || !slices.Equal(found.Guarded, []string{"deployment/app"}) {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := inject.Check([]byte(app("Deployment", "app", "")), inject.Defaults()); !errors.Is(err, inject.ErrNoMatch) {
		t.Errorf("a stream without a sidecar: %v", err)
	}
}

// Of pods that no policy of the input restricts the check says so: pod-ip:8080 may be open.
func TestPodsWithoutAPolicyAreTold(t *testing.T) {
	good := guarded(t)
	const sidecarOnly = "{ports: [{port: 8700}, {port: 8080, protocol: UDP}]}"
	for name, test := range map[string]struct {
		policy string
		closed bool
	}{
		"none":                {"", false},
		"for these pods":      {policy("{matchLabels: {app: app}}", sidecarOnly), true},
		"for all pods":        {policy("{}", sidecarOnly), true},
		"for others' pods":    {policy("{matchLabels: {app: b}}", sidecarOnly), false},
		"for all but these":   {policy("{matchExpressions: [{key: app, operator: NotIn, values: [app]}]}", sidecarOnly), false},
		"for pods with it":    {policy("{matchExpressions: [{key: app, operator: Exists}]}", sidecarOnly), true},
		"for pods without it": {policy("{matchExpressions: [{key: app, operator: DoesNotExist}]}", sidecarOnly), false},
		"for what goes out":   {strings.Replace(policy("{}", sidecarOnly), "[Ingress]", "[Egress]", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := inject.Check([]byte(good+test.policy), options(nil))
			if err != nil || len(found.Open) != 0 || (len(found.Unclosed) == 0) != test.closed {
				t.Errorf("got %v, %v", found, err)
			}
		})
	}
}

// A rule that opens more than the application's port cannot be pointed at the sidecar. Without the policy more would be
// open, so inject goes on, and says it.
func TestRulesThatStayOpenAreWarnedOf(t *testing.T) {
	for rule, want := range map[string]string{
		"{from: [{podSelector: {}}]}":            "networkpolicy/n: opens every port of deployment/app, 8080 included",
		"{ports: [{port: 8000, endPort: 9000}]}": "networkpolicy/n: opens port 8080 of deployment/app",
	} {
		result, err := inject.Inject([]byte(app("Deployment", "app", "")+policy("{matchLabels: {app: app}}", rule)), options(nil))
		if err != nil || !strings.Contains(lines(result.Notes), "warning: "+want) {
			t.Errorf("%s: got %v, %s", rule, err, lines(result.Notes))
		}
	}
}

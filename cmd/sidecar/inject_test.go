package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

const manifests = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
spec:
  selector:
    matchLabels: {app: app}
  template:
    metadata:
      labels: {app: app}
    spec:
      containers:
        - name: app
          image: shop/app:1
          ports: [{name: http, containerPort: 8080}]
---
apiVersion: v1
kind: Service
metadata:
  name: app
spec:
  selector: {app: app}
  ports:
    - {port: 80, targetPort: http}
`

// piped runs a command with a text on its standard input.
func piped(input string, args ...string) (status int, output, report string) {
	var out, err bytes.Buffer
	p := &program{in: strings.NewReader(input), out: &out, err: &err}
	return p.dispatch(context.Background(), args), out.String(), err.String()
}

func TestInjectAndBackThroughPipes(t *testing.T) {
	status, injected, report := piped(manifests, "inject", "--workload=deploy/app", "--guard=/hooks", "-")
	if status != exitDone || !strings.Contains(injected, "targetPort: 8700") || !strings.Contains(injected, "value: /hooks") {
		t.Fatalf("status %d: %s", status, injected)
	}
	if !strings.Contains(report, "deployment/app: injected") || !strings.Contains(report, "service/app: port 80: targetPort http -> 8700") {
		t.Errorf("the report is %s", report)
	}
	status, _, report = piped(injected, "inject", "--check")
	if status != exitDone || !strings.Contains(report, "leads round the sidecar of deployment/app\n") ||
		!strings.Contains(report, "warning: no NetworkPolicy in this input restricts the pods of deployment/app: whoever reaches port 8080") {
		t.Errorf("the check ends with %d: %s", status, report)
	}
	status, back, report := piped(injected, "uninject")
	if status != exitDone || back != manifests || !strings.Contains(report, "deployment/app: uninjected") {
		t.Errorf("status %d, report %s, back is\n%s", status, report, back)
	}
}

func TestInjectStatuses(t *testing.T) {
	_, injected, _ := piped(manifests, "inject", "--workload=deploy/app")
	for name, test := range map[string]struct {
		input  string
		args   []string
		status int
		says   string
	}{
		"nothing selected":    {manifests, []string{"inject"}, exitUsage, "deployment/app"},
		"a slip in a name":    {manifests, []string{"inject", "--workload=deploy/ap"}, exitUsage, "no workload deploy/ap"},
		"allowed to be empty": {manifests, []string{"inject", "--allow-empty"}, exitDone, ""},
		"wrong options":       {manifests, []string{"inject", "--workload=deploy/app", "--guard=hooks"}, exitUsage, "guard"},
		"an unknown flag":     {manifests, []string{"inject", "--workloads=x"}, exitUsage, "inject"},
		"an unknown form":     {manifests, []string{"inject", "--workload=deploy/app", "--emit=xml"}, exitUsage, "emit"},
		"not YAML":            {"a: [", []string{"inject", "--workload=deploy/app"}, exitFailed, "document 1"},
		"no such file":        {"", []string{"inject", "-f", "/nonexistent.yaml"}, exitFailed, "nonexistent"},
		"an open way": {strings.Replace(injected, "targetPort: 8700", "targetPort: http", 1), []string{"inject", "--check"}, exitUsage,
			"open: service/app port 80 reaches port 8080 of deployment/app"},
		"an open policy": {injected + "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: n}\nspec: {podSelector: {}, ingress: [{}]}\n",
			[]string{"inject", "--check"}, exitUsage, "open: networkpolicy/n opens every port of deployment/app, 8080 included"},
		"one that lost its sidecar": {injected + "---\n" + strings.NewReplacer("apps/", "apps/", "app", "b").Replace(manifests), []string{"inject", "--check", "--workload=deploy/app,deploy/b"},
			exitUsage, "open: deployment/b has no sidecar"},
		"no sidecar to check": {manifests, []string{"inject", "--check"}, exitUsage, "nothing"},
		"nothing to undo":     {manifests, []string{"uninject"}, exitDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, output, report := piped(test.input, test.args...)
			if status != test.status || !strings.Contains(report, test.says) {
				t.Errorf("status %d, want %d; it says %s", status, test.status, report)
			}
			if status != exitDone && output != "" {
				t.Errorf("there is output beside status %d: %s", status, output)
			}
		})
	}
}

func TestInjectForms(t *testing.T) {
	_, injected, _ := piped(manifests, "inject", "--workload=deploy/app")
	for name, test := range map[string]struct {
		input string
		args  []string
		says  []string
	}{
		"a difference": {manifests, []string{"inject", "--workload=deploy/app", "--diff"},
			[]string{"--- before\n+++ after\n@@ ", "\n+    - {port: 80, targetPort: 8700}\n"}},
		"a difference back": {injected, []string{"uninject", "--diff"}, []string{"\n-    - {port: 80, targetPort: 8700}\n"}},
		"a component": {manifests, []string{"inject", "--workload=deploy/app", "--emit=kustomize"},
			[]string{"kind: Component\n", "    - op: test\n      path: /spec/ports/0/port\n      value: 80\n", "path: /spec/template/spec/initContainers\n"}},
		"native values": {manifests, []string{"inject", "--workload=deploy/app", "--emit=values"},
			[]string{"extraInitContainers:\n  - name: sidecar\n", "extraVolumes:\n  - name: sidecar-config\n", "# service/app needs /spec/ports/0/targetPort: 8700"}},
		"plain values": {manifests, []string{"inject", "--workload=deploy/app", "--emit=values", "--native=never", "--volumes-key=volumes"},
			[]string{"extraContainers:\n  - name: sidecar\n", "volumes:\n  - name: sidecar-config\n"}},
		"values under a key": {manifests, []string{"inject", "--workload=deploy/app", "--emit=values", "--key=sidecars"},
			[]string{"sidecars:\n  - name: sidecar\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, output, report := piped(test.input, test.args...)
			for _, part := range test.says {
				if status != exitDone || !strings.Contains(output, part) {
					t.Errorf("status %d (%s), %q is missing in\n%s", status, report, part, output)
				}
			}
		})
	}
}

// Only of a release there is an image with its number.
func TestTheImageOfAVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "v0.1.0": "0.1.0", "v10.0.0-0.beta": "10.0.0-0.beta",
		"v0.0.0-20261201133820-b60992c5016e": "latest", "v1.2.4-0.20261201133820-b60992c5016e": "latest",
		"v1.2.4-rc.1.0.20261201133820-b60992c5016e": "latest", "v1.2.3+dirty": "latest",
		"v0.0.0-20261201133820-b60992c5016e+dirty": "latest", "(devel)": "latest", "unknown": "latest", "": "latest",
	} {
		if got := imageOf(version); got != "webhook-sidecar:"+want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}

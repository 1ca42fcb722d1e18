package k8s

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// helm is one version of Helm, with its way to call a post-renderer.
type helm struct {
	program  string
	home     string
	renderer []string
}

// newHelm makes a Helm with a home of its own. Helm 3 runs a program as post-renderer, Helm 4 a plugin.
func newHelm(t *testing.T, version string) helm {
	t.Helper()
	if version == "3" {
		sidecar, err := filepath.Abs("../../bin/sidecar")
		if err != nil {
			t.Fatal(err)
		}
		return helm{"helm-3.22.0", t.TempDir(), []string{"--post-renderer", sidecar, "--post-renderer-args", "inject", "--post-renderer-args"}}
	}
	h := helm{"helm-4.3.1", t.TempDir(), []string{"--post-renderer", "sidecar-inject", "--post-renderer-args"}}
	h.must(t, "plugin", "install", "../../charts/plugins/helm4")
	return h
}

func (h helm) run(args ...string) (string, error) {
	program, err := filepath.Abs(cache + h.program)
	if err != nil {
		return "", err
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(context.Background(), program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+cluster.kubeconfig, "HOME="+h.home, "HELM_DATA_HOME="+h.home+"/data",
		"HELM_CACHE_HOME="+h.home+"/cache", "HELM_CONFIG_HOME="+h.home+"/config", "PATH="+bin+":"+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	return string(output), err
}

func (h helm) must(t *testing.T, args ...string) string {
	t.Helper()
	output, err := h.run(args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

type deployment struct {
	Spec struct {
		Template struct {
			Spec struct {
				InitContainers []struct{ Name, Image string }
			}
		}
	}
}

type service struct {
	Spec struct {
		Ports []struct{ TargetPort any }
	}
}

// TestHelm attaches the sidecar to somebody else's chart, changes it, takes it off, and uninstalls.
func TestHelm(t *testing.T) {
	for _, version := range []string{"3", "4"} {
		t.Run(version, func(t *testing.T) {
			h := newHelm(t, version)
			name := namespace(t, "helm-"+version)
			chart := []string{"app", "../../charts/examples/app", "-n", name}
			with := append(append([]string{}, chart...), h.renderer...)
			h.must(t, append([]string{"install"}, append(with, "--workload=deploy/app")...)...)
			expect(t, name, "webhook-sidecar:latest", 8700)

			again := append(append([]string{}, with...), "--workload=deploy/app")
			last := h.renderer[len(h.renderer)-1]
			again = append(again, last, "--image=webhook-sidecar:2", "--set", "replicas=3", "--no-hooks")
			h.must(t, append([]string{"upgrade"}, again...)...)
			expect(t, name, "webhook-sidecar:2", 8700)

			if output, err := h.run(append([]string{"upgrade"}, append(with, "--workload=deploy/typo", "--no-hooks")...)...); err == nil {
				t.Errorf("a wrong name deployed the application unguarded:\n%s", output)
			}
			expect(t, name, "webhook-sidecar:2", 8700)

			h.must(t, append([]string{"upgrade", "--no-hooks"}, chart...)...)
			expect(t, name, "", "http")
			h.must(t, "uninstall", "app", "-n", name)
			if cluster.get("/apis/apps/v1/namespaces/"+name+"/deployments/app", nil) == nil {
				t.Error("the deployment is still there")
			}
		})
	}
}

func expect(t *testing.T, namespace, image string, target any) {
	t.Helper()
	var d deployment
	var s service
	if err := cluster.get("/apis/apps/v1/namespaces/"+namespace+"/deployments/app", &d); err != nil {
		t.Fatal(err)
	}
	if err := cluster.get("/api/v1/namespaces/"+namespace+"/services/app", &s); err != nil {
		t.Fatal(err)
	}
	var got string
	for _, one := range d.Spec.Template.Spec.InitContainers {
		got = one.Image
	}
	if got != image {
		t.Errorf("the sidecar's image is %q, want %q", got, image)
	}
	port := s.Spec.Ports[0].TargetPort
	if number, is := port.(float64); is {
		port = int(number)
	}
	if port != target {
		t.Errorf("the Service leads to %v, want %v", port, target)
	}
}

// TestHelmChart installs, upgrades and uninstalls the chart of what lives outside the pod.
func TestHelmChart(t *testing.T) {
	for _, version := range []string{"3", "4"} {
		t.Run(version, func(t *testing.T) {
			h := newHelm(t, version)
			name := namespace(t, "chart-"+version)
			args := []string{"app-sidecar", "../../charts/sidecar", "-n", name, "-f", "../../charts/examples/values-sidecar.yaml",
				"--set", "podMonitor.enabled=false,prometheusRule.enabled=false"}
			h.must(t, append([]string{"install"}, args...)...)
			for _, path := range []string{"/api/v1/namespaces/" + name + "/configmaps/app-sidecar",
				"/apis/networking.k8s.io/v1/namespaces/" + name + "/networkpolicies/app-sidecar"} {
				if err := cluster.get(path, nil); err != nil {
					t.Error(err)
				}
			}
			h.must(t, append([]string{"upgrade", "--dry-run=server"}, args...)...)
			h.must(t, append([]string{"upgrade"}, append(args, "--set", "networkPolicy.enabled=false")...)...)
			if cluster.get("/apis/networking.k8s.io/v1/namespaces/"+name+"/networkpolicies/app-sidecar", nil) == nil {
				t.Error("the policy is still there")
			}
			h.must(t, "uninstall", "app-sidecar", "-n", name)
		})
	}
}

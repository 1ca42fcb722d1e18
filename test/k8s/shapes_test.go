package k8s

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// namespace makes a namespace where only restricted pods may run.
func namespace(t *testing.T, name string) string {
	t.Helper()
	labels := map[string]string{}
	for _, mode := range []string{"enforce", "warn"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}}
	if err := cluster.post("/api/v1/namespaces", object); err != nil {
		t.Fatal(err)
	}
	return name
}

// node makes the only node. Nothing runs on it: the tests say what its kubelet would.
func node(t *testing.T) string {
	t.Helper()
	const name = "node-1"
	if cluster.get("/api/v1/nodes/"+name, nil) == nil {
		return name
	}
	if err := cluster.post("/api/v1/nodes", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name}}); err != nil {
		t.Fatal(err)
	}
	// The server taints every new node until somebody has looked at it.
	if err := cluster.merge("/api/v1/nodes/"+name, map[string]any{"spec": map[string]any{"taints": nil}}); err != nil {
		t.Fatal(err)
	}
	ready := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}}
	if err := cluster.merge("/api/v1/nodes/"+name+"/status", ready); err != nil {
		t.Fatal(err)
	}
	return name
}

// documents cuts a stream at its markers.
func documents(stream string) []string { return regexp.MustCompile(`(?m)^---.*$`).Split(stream, -1) }

func applyAll(t *testing.T, namespace, stream string) {
	t.Helper()
	for _, document := range documents(stream) {
		document = strings.TrimSuffix(strings.TrimSpace(document), "...")
		warnings, err := cluster.apply(namespace, []byte(document))
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		for _, warning := range warnings {
			t.Errorf("the server warns: %s", warning)
		}
	}
}

// TestShapes applies every golden manifest strictly where only restricted pods may run, and looks at which port each Service
// really leads to.
func TestShapes(t *testing.T) {
	outputs, err := filepath.Glob("../../internal/inject/testdata/shapes/*/out.*")
	if err != nil || len(outputs) < 10 {
		t.Fatalf("%d shapes, %v", len(outputs), err)
	}
	for _, path := range outputs {
		name := filepath.Base(filepath.Dir(path))
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			stream := strings.ReplaceAll(string(content), "namespace: shop", "namespace: "+name)
			node(t)
			applyAll(t, namespace(t, name), stream)
			leadsToTheSidecar(t, name, stream)
		})
	}
}

// leadsToTheSidecar lets the pods run and demands of the Services that reach them: the sidecar's port, never the
// application's.
func leadsToTheSidecar(t *testing.T, namespace, stream string) {
	t.Helper()
	upstream := regexp.MustCompile(`http://localhost:(\d+)`).FindStringSubmatch(stream)
	if upstream == nil {
		t.Fatal("no sidecar in the stream")
	}
	application, _ := strconv.Atoi(upstream[1])
	if err := cluster.await(time.Minute, func() error { return runPods(namespace) }); err != nil {
		t.Fatal(err)
	}
	var ports map[string][]int
	guarded := func() (err error) {
		if ports, err = endpointPorts(namespace); err != nil {
			return err
		}
		for service, numbers := range ports {
			if service != "other" && len(numbers) == 0 {
				return fmt.Errorf("%s has no endpoints yet", service)
			}
		}
		return nil
	}
	if err := cluster.await(time.Minute, guarded); err != nil {
		t.Fatal(err)
	}
	for service, numbers := range ports {
		t.Logf("service/%s leads to %v; the application is on %d", service, numbers, application)
		if service == "other" {
			continue
		}
		reached := false
		for _, number := range numbers {
			reached = reached || number == 8700
			if number == application {
				t.Errorf("service/%s goes round the sidecar", service)
			}
		}
		if !reached {
			t.Errorf("service/%s does not reach the sidecar: %v", service, numbers)
		}
	}
}

type podList struct {
	Items []struct {
		Metadata struct {
			Name            string
			OwnerReferences []struct{ Kind string }
		}
		Spec struct {
			NodeName       string
			InitContainers []struct{ Name string }
			Containers     []struct{ Name string }
		}
		Status struct{ PodIP string }
	}
}

// runPods binds every pod that is not a job's and reports it as running, as a scheduler and a kubelet would.
func runPods(namespace string) error {
	var pods podList
	if err := cluster.get("/api/v1/namespaces/"+namespace+"/pods", &pods); err != nil {
		return err
	}
	running := 0
	for i, pod := range pods.Items {
		if !strings.Contains(fmt.Sprint(pod.Spec), "sidecar") {
			continue
		}
		path := "/api/v1/namespaces/" + namespace + "/pods/" + pod.Metadata.Name
		if pod.Spec.NodeName == "" {
			binding := map[string]any{"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": pod.Metadata.Name},
				"target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": "node-1"}}
			if err := cluster.post(path+"/binding", binding); err != nil {
				return err
			}
		}
		if pod.Status.PodIP == "" {
			ip := fmt.Sprintf("10.1.%d.%d", len(namespace), i+1)
			status := map[string]any{"phase": "Running", "podIP": ip, "podIPs": []any{map[string]any{"ip": ip}},
				"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
			if err := cluster.merge(path+"/status", map[string]any{"status": status}); err != nil {
				return err
			}
		}
		running++
	}
	if running == 0 {
		return errors.New("no pod with a sidecar was made: " + events(namespace))
	}
	return nil
}

// events tell why a controller could not make a pod.
func events(namespace string) string {
	var list struct{ Items []struct{ Message string } }
	if err := cluster.get("/api/v1/namespaces/"+namespace+"/events", &list); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, event := range list.Items {
		text.WriteString(event.Message + "; ")
	}
	return text.String()
}

// endpointPorts are the ports by which the EndpointSlices of each Service reach ready pods.
func endpointPorts(namespace string) (map[string][]int, error) {
	var services struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := cluster.get("/api/v1/namespaces/"+namespace+"/services", &services); err != nil {
		return nil, err
	}
	ports := map[string][]int{}
	for _, service := range services.Items {
		ports[service.Metadata.Name] = nil
		var slices struct {
			Items []struct {
				Ports     []struct{ Port int }
				Endpoints []struct{ Addresses []string }
			}
		}
		query := "?labelSelector=kubernetes.io%2Fservice-name%3D" + service.Metadata.Name
		if err := cluster.get("/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices"+query, &slices); err != nil {
			return nil, err
		}
		for _, slice := range slices.Items {
			for _, port := range slice.Ports {
				if len(slice.Endpoints) > 0 {
					ports[service.Metadata.Name] = append(ports[service.Metadata.Name], port.Port)
				}
			}
		}
	}
	return ports, nil
}

// A name that two containers share means the application, whatever the server's warning says: this is why targetPort is
// written as a number, and why inject refuses a name twice.
func TestASharedPortNameGoesRound(t *testing.T) {
	content, err := os.ReadFile("../../internal/inject/testdata/shapes/scaffold/out.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stream := strings.NewReplacer("name: sc-webhook", "name: http", "targetPort: 8700", "targetPort: http").Replace(string(content))
	node(t)
	name := namespace(t, "shared-name")
	for _, document := range documents(stream) {
		if _, err := cluster.apply(name, []byte(document)); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.await(time.Minute, func() error { return runPods(name) }); err != nil {
		t.Fatal(err)
	}
	err = cluster.await(time.Minute, func() error {
		ports, err := endpointPorts(name)
		if err == nil && len(ports["web"]) == 0 {
			return errors.New("no endpoints yet")
		}
		if err == nil && ports["web"][0] != 8080 {
			t.Errorf("the name leads to %v now: inject may be simplified", ports["web"])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

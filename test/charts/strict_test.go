package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	sigs "sigs.k8s.io/yaml"
)

// typed is an empty object of the API's own type.
func typed(kind string) (any, error) {
	switch kind {
	case "Deployment":
		return &apps.Deployment{}, nil
	case "StatefulSet":
		return &apps.StatefulSet{}, nil
	case "DaemonSet":
		return &apps.DaemonSet{}, nil
	case "ReplicaSet":
		return &apps.ReplicaSet{}, nil
	case "Pod":
		return &core.Pod{}, nil
	case "Service":
		return &core.Service{}, nil
	case "ServiceAccount":
		return &core.ServiceAccount{}, nil
	case "ConfigMap":
		return &core.ConfigMap{}, nil
	case "Secret":
		return &core.Secret{}, nil
	case "Job":
		return &batch.Job{}, nil
	case "CronJob":
		return &batch.CronJob{}, nil
	case "NetworkPolicy":
		return &networking.NetworkPolicy{}, nil
	case "PodDisruptionBudget":
		return &policy.PodDisruptionBudget{}, nil
	case "PodMonitor":
		return &monitoring.PodMonitor{}, nil
	case "PrometheusRule":
		return &monitoring.PrometheusRule{}, nil
	}
	return nil, fmt.Errorf("kind %q is not known to this test", kind)
}

// decode decodes a document into the API's own type. A field that the type does not have, and a key that is there twice,
// are errors.
func decode(t *testing.T, document []byte) any {
	t.Helper()
	var head struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := sigs.Unmarshal(document, &head); err != nil {
		t.Fatal(err)
	}
	if head.Kind == "List" || head.Kind == "ResourceList" {
		for _, item := range head.Items {
			decode(t, item)
		}
		return nil
	}
	object, err := typed(head.Kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := sigs.UnmarshalStrict(document, object); err != nil {
		t.Errorf("%v in\n%s", err, document)
	}
	return object
}

// find decodes a stream and returns the objects of a type.
func find[T any](t *testing.T, stream string) []T {
	t.Helper()
	var found []T
	for _, document := range documents(t, []byte(stream)) {
		if object, is := decode(t, document).(T); is {
			found = append(found, object)
		}
	}
	return found
}

func TestInjectedShapesAreStrictlyValid(t *testing.T) {
	outputs, err := filepath.Glob("../../internal/inject/testdata/shapes/*/out.*")
	if err != nil || len(outputs) < 10 {
		t.Fatalf("%d outputs, %v", len(outputs), err)
	}
	for _, path := range outputs {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range documents(t, content) {
				decode(t, document)
			}
		})
	}
}

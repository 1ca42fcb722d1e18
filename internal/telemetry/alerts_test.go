package telemetry_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const alertsFile = "../../deploy/alerts.yaml"

// Every alert has somebody to wake, says what to do, and speaks of metrics that exist.
func TestAlertsSpeakOfWhatIsMeasured(t *testing.T) {
	text, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) == 0 || len(file.Groups[0].Rules) == 0 {
		t.Fatalf("%s: %v", alertsFile, err)
	}
	doc, tests := document(t), readText(t, "../../deploy/alerts.test.yaml")
	for _, rule := range file.Groups[0].Rules {
		if rule.Labels["owner"] == "" || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s lacks an owner, a severity, a summary or a description", rule.Alert)
		}
		if !strings.Contains(tests, "alertname: "+rule.Alert+"\n") {
			t.Errorf("%s is never seen firing in alerts.test.yaml", rule.Alert)
		}
		metrics := regexp.MustCompile(`webhook_\w+`).FindAllString(rule.Expr, -1)
		if len(metrics) == 0 {
			t.Errorf("%s speaks of no metric of ours", rule.Alert)
		}
		for _, metric := range metrics {
			if !strings.Contains(doc, "| `"+strings.TrimSuffix(metric, "_bucket")+"` |") {
				t.Errorf("%s speaks of %s, which is not measured", rule.Alert, metric)
			}
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The rules fire when they should and only then, by Prometheus' own tool where it is installed.
func TestAlertsFire(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: make test installs it (package prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", alertsFile}, {"test", "rules", "../../deploy/alerts.test.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
}

package charts

import (
	"os"
	"regexp"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// The chart's rules are those of deploy/alerts.yaml, for this release's sidecars only. A rule that is added to one belongs
// into the other.
func TestTheChartsAlertsAreTheDeployedOnes(t *testing.T) {
	plain := plainAlerts(t)
	text := "{workload: app, podLabels: {a: b}, existingConfigMap: c, auth: {existingSecret: s}, prometheusRule: {enabled: true}}"
	seen := map[string]bool{}
	for _, rule := range find[*monitoring.PrometheusRule](t, rendered(t, "sidecar", text))[0].Spec.Groups[0].Rules {
		seen[rule.Alert] = true
		want, known := plain[rule.Alert]
		if !known {
			t.Errorf("deploy/alerts.yaml lacks %s", rule.Alert)
			continue
		}
		if got := unselected(rule.Expr.StrVal); got != unselected(want.Expr) {
			t.Errorf("%s is\n%s in the chart, and\n%s in deploy/alerts.yaml", rule.Alert, got, unselected(want.Expr))
		}
		if strings.Count(rule.Expr.StrVal, "namespace=") != len(regexp.MustCompile(`webhook_\w+`).FindAllString(rule.Expr.StrVal, -1)) {
			t.Errorf("%s looks at other releases, too: %s", rule.Alert, rule.Expr.StrVal)
		}
		wait := ""
		if rule.For != nil {
			wait = string(*rule.For)
		}
		if wait != want.For || rule.Labels["severity"] != want.Labels["severity"] || rule.Annotations["description"] != want.Annotations["description"] {
			t.Errorf("%s is %q, %v, %v in the chart, and %+v in deploy/alerts.yaml", rule.Alert, wait, rule.Labels, rule.Annotations, want)
		}
		if rule.Annotations["summary"] == "" {
			t.Errorf("%s says nothing", rule.Alert)
		}
	}
	for alert := range plain {
		if !seen[alert] {
			t.Errorf("the chart lacks %s", alert)
		}
	}
}

type plainAlert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func plainAlerts(t *testing.T) map[string]plainAlert {
	t.Helper()
	text, err := os.ReadFile("../../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []plainAlert }
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) != 1 || len(file.Groups[0].Rules) < 10 {
		t.Fatalf("deploy/alerts.yaml: %v", err)
	}
	alerts := map[string]plainAlert{}
	for _, rule := range file.Groups[0].Rules {
		alerts[rule.Alert] = rule
	}
	return alerts
}

// unselected is an expression without its release's selector and its layout.
func unselected(expression string) string {
	expression = regexp.MustCompile(`,?namespace="[^"]*",job=~"[^"]*"`).ReplaceAllString(expression, "")
	return strings.Join(strings.Fields(strings.ReplaceAll(expression, "{}", "")), " ")
}

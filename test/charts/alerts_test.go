package charts

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// The chart's rules are those of deploy/alerts.yaml, for this release's sidecars only, whether it knows the integrations or
// not. A rule that is added to one belongs into the other.
func TestTheChartsAlertsAreTheDeployedOnes(t *testing.T) {
	plain := plainAlerts(t)
	for name, text := range map[string]string{
		"integrations elsewhere": "{workload: app, podLabels: {a: b}, existingConfigMap: c, auth: {existingSecret: s}, prometheusRule: {enabled: true}}",
		"integrations here":      example(t),
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for _, rule := range alertRules(t, text) {
				seen[rule.Alert] = true
				want, known := plain[rule.Alert]
				if !known {
					t.Errorf("deploy/alerts.yaml lacks %s", rule.Alert)
					continue
				}
				isAlert(t, rule, want)
			}
			for alert := range plain {
				if !seen[alert] {
					t.Errorf("the chart lacks %s", alert)
				}
			}
		})
	}
}

func alertRules(t *testing.T, text string) []monitoring.Rule {
	t.Helper()
	return find[*monitoring.PrometheusRule](t, rendered(t, "sidecar", text))[0].Spec.Groups[0].Rules
}

func isAlert(t *testing.T, rule monitoring.Rule, want plainAlert) {
	t.Helper()
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

// Every alert asks somebody about every integration: the owner of one that the chart knows, and the platform's about one
// that it does not know (any more), or that shares a series with others. Nobody is asked twice.
func TestEveryIntegrationHasAnOwner(t *testing.T) {
	owners := map[string]string{ // acme/pay.ments is no pattern
		"acme/pay.ments": "payments-oncall", "acme/orders": "platform", "acme/payXments": "platform", "acme/removed": "platform",
		"acme/orders-2": "platform", "other": "platform",
	}
	const integration = "  - {account: acme, name: %s, route: /%s, provider: stripe, credentials: [{id: k, secret: {file: /run/secrets/k}}]%s}\n"
	text := "workload: app\npodLabels: {a: b}\nauth: {existingSecret: s}\nprometheusRule: {enabled: true}\nintegrations:\n" +
		fmt.Sprintf(integration, "pay.ments", "payments", ", owner: payments-oncall") + fmt.Sprintf(integration, "orders", "orders", "")
	asked := map[string]map[string][]string{} // alert and integration: owners
	for _, rule := range alertRules(t, text) {
		if asked[rule.Alert] == nil {
			asked[rule.Alert] = map[string][]string{}
		}
		for name := range owners {
			if selected(t, rule.Expr.StrVal, name) {
				asked[rule.Alert][name] = append(asked[rule.Alert][name], rule.Labels["owner"])
			}
		}
	}
	apart := 0
	for alert, integrations := range asked {
		if slices.Equal(integrations["acme/pay.ments"], []string{"platform"}) {
			continue // one rule for all
		}
		apart++
		for name, owner := range owners {
			if !slices.Equal(integrations[name], []string{owner}) {
				t.Errorf("%s asks %v about %s, want %s", alert, integrations[name], name, owner)
			}
		}
	}
	if apart != 5 {
		t.Errorf("%d alerts ask each integration's owner", apart)
	}
}

// selected tells whether every selector of an expression takes the series of an integration.
func selected(t *testing.T, expression, integration string) bool {
	t.Helper()
	for _, matcher := range regexp.MustCompile(`integration(=|!~)("[^"]*")`).FindAllStringSubmatch(expression, -1) {
		value, err := strconv.Unquote(matcher[2])
		if err != nil {
			t.Fatal(err)
		}
		takes := value == integration
		if matcher[1] == "!~" {
			takes = !regexp.MustCompile("^(?:" + value + ")$").MatchString(integration)
		}
		if !takes {
			return false
		}
	}
	return true
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

// unselected is an expression without its release's and its integration's selectors and its layout.
func unselected(expression string) string {
	expression = regexp.MustCompile(`,?namespace="[^"]*",job=~"[^"]*"`).ReplaceAllString(expression, "")
	expression = regexp.MustCompile(`integration(=|!~)"[^"]*",?`).ReplaceAllString(expression, "")
	return strings.Join(strings.Fields(strings.ReplaceAll(expression, "{}", "")), "")
}

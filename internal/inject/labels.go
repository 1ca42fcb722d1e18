package inject

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseLabels reads a=b,c=d.
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		key, value = strings.TrimSpace(key), strings.TrimPrefix(value, "=")
		if !ok || key == "" || strings.HasSuffix(key, "!") {
			return nil, wrong("selector %q is not a=b,c=d", text)
		}
		labels[key] = strings.TrimSpace(value)
	}
	return labels, nil
}

// stringMap reads a mapping of texts.
func stringMap(n *yaml.Node) map[string]string {
	labels := map[string]string{}
	if n == nil || n.Decode(&labels) != nil {
		return map[string]string{}
	}
	return labels
}

// matches tells whether a LabelSelector matches labels. One that says nothing matches all.
func matches(selector *yaml.Node, labels map[string]string) bool {
	for key, value := range stringMap(child(selector, "matchLabels")) {
		if found, there := labels[key]; !there || found != value {
			return false
		}
	}
	return !slices.ContainsFunc(itemsOf(child(selector, "matchExpressions")), func(expression *yaml.Node) bool {
		return !isMet(expression, labels)
	})
}

// isMet tells whether labels meet an expression of a LabelSelector. One that is none, which the API refuses, is not met.
func isMet(expression *yaml.Node, labels map[string]string) bool {
	value, there := labels[textOf(child(expression, "key"))]
	listed := slices.ContainsFunc(itemsOf(child(expression, "values")), func(one *yaml.Node) bool { return textOf(one) == value })
	switch textOf(child(expression, "operator")) {
	case "In":
		return there && listed
	case "NotIn":
		return !there || !listed
	case "Exists":
		return there
	case "DoesNotExist":
		return !there
	}
	return false
}

// selects tells whether a selector that is not empty matches labels.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if found, there := labels[key]; !there || found != value {
			return false
		}
	}
	return len(selector) > 0
}

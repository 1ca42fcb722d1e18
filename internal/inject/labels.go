package inject

import (
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

// selects tells whether a selector that is not empty matches labels.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if found, there := labels[key]; !there || found != value {
			return false
		}
	}
	return len(selector) > 0
}

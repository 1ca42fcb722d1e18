package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// Revocations are the credentials that a file marks revoked, whatever else is wrong in it, as long as it is YAML. It is
// as lenient as the loader is strict, because a revocation must count even where somebody made a mistake beside it.
func Revocations(text []byte) []Revocation {
	root, problem := parseDocument("", text)
	if problem != nil {
		return nil
	}
	var found []Revocation
	for _, list := range valuesOf(root, "integrations") {
		for _, integration := range elementsOf(list) {
			found = append(found, revocationsOf(integration)...)
		}
	}
	return found
}

func revocationsOf(integration *yaml.Node) []Revocation {
	var found []Revocation
	for _, account := range valuesOf(integration, "account") {
		for _, name := range valuesOf(integration, "name") {
			scope, err := delivery.NewScope(account.Value, name.Value)
			if err != nil {
				continue
			}
			for _, id := range revokedIDs(integration) {
				found = append(found, Revocation{scope, id})
			}
		}
	}
	return found
}

func revokedIDs(integration *yaml.Node) []string {
	var ids []string
	for _, list := range valuesOf(integration, "credentials") {
		for _, credential := range elementsOf(list) {
			for _, status := range valuesOf(credential, "status") {
				if !strings.EqualFold(strings.TrimSpace(status.Value), string(revoked)) {
					continue
				}
				for _, id := range valuesOf(credential, "id") {
					ids = append(ids, id.Value)
				}
			}
		}
	}
	return ids
}

// valuesOf are the values of a key in a mapping, all of them where it is written more than once.
func valuesOf(node *yaml.Node, key string) []*yaml.Node {
	node = follow(node)
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	var values []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value != key {
			continue
		}
		if value := follow(node.Content[i+1]); value != nil {
			values = append(values, value)
		}
	}
	return values
}

func elementsOf(node *yaml.Node) []*yaml.Node {
	if node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

func follow(node *yaml.Node) *yaml.Node {
	for range 8 {
		if node == nil || node.Kind != yaml.AliasNode {
			return node
		}
		node = node.Alias
	}
	return nil
}

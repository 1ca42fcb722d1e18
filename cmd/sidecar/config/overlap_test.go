package config

import (
	"strings"
	"testing"
)

func pair(first, second string) string {
	return "integrations:\n" + strings.Replace(integration(), "/webhooks/stripe", first, 1) +
		strings.Replace(strings.Replace(integration(), "/webhooks/stripe", second, 1), "payments", "refunds", 1)
}

func TestRoutesThatOneRequestCouldMean(t *testing.T) {
	for _, routes := range [][2]string{
		{"/a", "/a"}, {"/a", "/A"}, {"/a", "/a/"}, {"/Hooks/x", "/hooks/X/"}, {"/a/b", "/a/%62"}, {"/a%2Fb", "/a/b"},
		{"/a/b", "/a//b"}, {"/a/b", "/a/./b"}, {"/a/b", "/a/x/../b"}, {"/a/b", "/a;v=1/b"}, {"/%61", "/%2561"},
	} {
		_, err := load(pair(routes[0], routes[1]), nil)
		if err == nil || !strings.Contains(err.Error(), "one request could match both") {
			t.Errorf("%s and %s: %v", routes[0], routes[1], err)
		}
	}
}

func TestRoutesThatDifferAreFine(t *testing.T) {
	for _, routes := range [][2]string{{"/a", "/b"}, {"/a", "/a/b"}, {"/a/b", "/ab"}, {"/a%20b", "/a"}, {"/a", "/a%20b"}} {
		if _, err := load(pair(routes[0], routes[1]), nil); err != nil {
			t.Errorf("%s and %s: %v", routes[0], routes[1], err)
		}
	}
}

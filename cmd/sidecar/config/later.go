package config

import (
	"slices"
	"time"
)

// notYet is what a key gets whose feature is not built.
const notYet = "not supported in this version"

func (m *mapping) unsupported(name string) { m.fail(name, notYet) }

// later reads the keys of accept mode, which is not built yet: they are checked and refused unless they say what would
// happen anyway.
func (m *mapping) later() {
	if m.choice("mode", "forward", "forward", "accept") == "accept" {
		m.unsupported("mode")
	}
	if m.choice("on_failure", "respond", "respond", "queue") == "queue" {
		m.unsupported("on_failure")
	}
	if m.number("concurrency", 0, 0, 1_000_000) != 0 {
		m.unsupported("concurrency")
	}
	m.section("retry").laterRetry()
	m.section("accept").laterAccept()
}

func (m *mapping) laterRetry() {
	if m.number("max_attempts", 200, 1, 1_000_000) != 200 {
		m.unsupported("max_attempts")
	}
	for name, fallback := range map[string]time.Duration{"max_age": 72 * time.Hour, "initial": 5 * time.Second, "max": time.Hour} {
		if m.duration(name, fallback) != fallback {
			m.unsupported(name)
		}
	}
	m.done()
}

func (m *mapping) laterAccept() {
	if m.number("status", 202, 200, 299) != 202 {
		m.unsupported("status")
	}
	if m.text("body", "") != "" {
		m.unsupported("body")
	}
	if m.text("content_type", "text/plain") != "text/plain" {
		m.unsupported("content_type")
	}
	m.done()
}

func sameTexts(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

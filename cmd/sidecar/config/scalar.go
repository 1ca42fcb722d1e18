package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// scalarText is the text of a scalar of one of the given tags.
func (r *reader) scalarText(node *yaml.Node, path, want string, tags ...string) (string, bool) {
	if node.Kind != yaml.ScalarNode {
		r.fail(node, path, "want %s, found %s", want, kindName(node))
		return "", false
	}
	if !slices.Contains(tags, node.ShortTag()) {
		r.fail(node, path, "want %s, found %s", want, strings.TrimPrefix(node.ShortTag(), "!!"))
		return "", false
	}
	return node.Value, true
}

// plainTags are the tags of what people write as a word: a number counts as its literal text.
func plainTags() []string { return []string{"!!str", "!!int", "!!float", "!!timestamp"} }

func (m *mapping) word(name, want string) (string, bool) {
	node := m.take(name)
	if node == nil {
		return "", false
	}
	return m.reader.scalarText(node, m.key(name), want, plainTags()...)
}

func (m *mapping) text(name, fallback string) string {
	if text, ok := m.word(name, "text"); ok {
		return text
	}
	return fallback
}

// required is text that must be written and not be empty.
func (m *mapping) required(name string) string {
	text, ok := m.word(name, "text")
	switch {
	case ok && text == "":
		m.fail(name, "is empty")
	case !ok && !m.has(name):
		m.fail(name, "is missing")
	}
	return text
}

func (m *mapping) flag(name string, fallback bool) bool {
	node := m.take(name)
	if node == nil {
		return fallback
	}
	text, ok := m.reader.scalarText(node, m.key(name), "true or false", "!!bool")
	if !ok {
		return fallback
	}
	return strings.EqualFold(text, "true")
}

func (m *mapping) number(name string, fallback, least, most int) int {
	node := m.take(name)
	if node == nil {
		return fallback
	}
	text, ok := m.reader.scalarText(node, m.key(name), "a number", "!!int")
	if !ok {
		return fallback
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < least || value > most {
		m.fail(name, "want a number from %d to %d", least, most)
		return fallback
	}
	return value
}

func (m *mapping) duration(name string, fallback time.Duration) time.Duration {
	text, ok := m.word(name, "a duration")
	if !ok {
		return fallback
	}
	parsed, err := ParseDuration(text)
	if err != nil {
		m.fail(name, "%v", err)
		return fallback
	}
	return parsed
}

func (m *mapping) size(name string, fallback int64) int64 {
	text, ok := m.word(name, "a size")
	if !ok {
		return fallback
	}
	parsed, err := ParseSize(text)
	if err != nil {
		m.fail(name, "%v", err)
		return fallback
	}
	return parsed
}

// choice is one of the allowed words.
func (m *mapping) choice(name, fallback string, allowed ...string) string {
	text, ok := m.word(name, "one of "+strings.Join(allowed, ", "))
	if !ok {
		return fallback
	}
	if !slices.Contains(allowed, text) {
		m.fail(name, "%q is not one of %s", text, strings.Join(allowed, ", "))
		return fallback
	}
	return text
}

// texts is a list of words.
func (m *mapping) texts(name string, fallback []string) []string {
	if !m.has(name) {
		m.take(name)
		return fallback
	}
	return m.reader.words(m.list(name))
}

func (r *reader) words(elements []element) []string {
	words := make([]string, 0, len(elements))
	for _, one := range elements {
		text, ok := r.scalarText(one.node, one.path, "text", plainTags()...)
		if !ok {
			continue
		}
		if text == "" {
			r.fail(one.node, one.path, "is empty")
			continue
		}
		words = append(words, text)
	}
	return words
}

// instant is a time such as 2026-11-01T00:00:00Z; zero where it is absent.
func (m *mapping) instant(name string) time.Time {
	text, ok := m.word(name, "a time")
	if !ok {
		return time.Time{}
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		m.fail(name, "%q is no time such as 2026-11-01T00:00:00Z", text)
	}
	return parsed
}

// date is a day such as 2026-11-01; zero where it is absent.
func (m *mapping) date(name string) time.Time {
	text, ok := m.word(name, "a date")
	if !ok {
		return time.Time{}
	}
	parsed, err := time.Parse(time.DateOnly, text)
	if err != nil {
		m.fail(name, "%q is no date such as 2026-11-01", text)
	}
	return parsed
}

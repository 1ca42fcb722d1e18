package config

import (
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// maxJoin bounds how deep an event's parts are joined.
const maxJoin = 4

// scheme reads the declared scheme of provider hmac.
func (m *mapping) scheme(provider string) *verify.HMAC {
	section := m.section("hmac")
	switch {
	case provider != "hmac" && m.has("hmac"):
		m.fail("hmac", "is for provider hmac only; provider %s brings its own scheme", provider)
		return nil
	case provider == "hmac" && !m.has("hmac"):
		m.fail("hmac", "is missing: provider hmac declares its scheme there")
		return nil
	case provider != "hmac" || section.node == nil:
		return nil
	}
	scheme := &verify.HMAC{
		Algorithm:      section.choice("algorithm", "sha256", "sha1", "sha256", "sha512"),
		Header:         section.headerName("header", ""),
		Prefix:         section.text("prefix", ""),
		Encoding:       section.choice("encoding", "hex", "hex", "base64"),
		Signed:         section.required("signed"),
		Timestamp:      section.section("timestamp").timestamp(),
		Tolerance:      section.tolerance(),
		SecretEncoding: section.choice("secret_encoding", "raw", "raw", "hex", "base64"),
		KeyID:          section.section("key_id").keyID(),
	}
	if scheme.Header == "" {
		section.fail("header", "is missing: the signature must be somewhere")
	}
	section.done()
	return scheme
}

func (m *mapping) timestamp() verify.Timestamp {
	stamp := verify.Timestamp{Header: m.headerName("header", ""), Unit: m.choice("unit", "s", "s", "ms")}
	if m.node != nil && stamp.Header == "" {
		m.fail("header", "is missing")
	}
	m.done()
	if m.node == nil {
		return verify.Timestamp{}
	}
	return stamp
}

// tolerance is 0, the verifier's own default, where nothing is written: without a timestamp there is none.
func (m *mapping) tolerance() time.Duration {
	if !m.has("tolerance") {
		return m.duration("tolerance", 0)
	}
	return m.window("tolerance", 0)
}

func (m *mapping) keyID() string {
	header := m.headerName("header", "")
	if m.node != nil && header == "" {
		m.fail("header", "is missing")
	}
	m.done()
	return header
}

func (m *mapping) event() verify.Event {
	event := verify.Event{
		ID:     m.source("id", 0),
		Type:   m.source("type", 0),
		Types:  m.texts("types", nil),
		Object: m.source("object", 0),
	}
	if m.has("types") && len(event.Types) == 0 {
		m.fail("types", "is empty: no event would be allowed")
	}
	m.done()
	return event
}

// source reads one place in a delivery.
func (m *mapping) source(name string, depth int) verify.Source {
	section := m.section(name)
	return section.place(depth)
}

func (m *mapping) place(depth int) verify.Source {
	if m.node == nil {
		return verify.Source{}
	}
	source := verify.Source{
		Header: m.headerName("header", ""),
		JSON:   m.text("json", ""),
		Form:   m.text("form", ""),
		Hash:   m.choice("hash", "", "body"),
	}
	if depth < maxJoin {
		for _, part := range m.list("join") {
			source.Join = append(source.Join, m.reader.newMapping(part.node, part.path).place(depth+1))
		}
	} else if m.has("join") {
		m.fail("join", "is nested more than %d deep", maxJoin)
		m.take("join")
	}
	m.done()
	if len(m.fields) != 1 {
		m.reader.fail(m.node, m.path, "want exactly one of header, json, form, hash or join")
	}
	return source
}

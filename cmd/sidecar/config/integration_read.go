package config

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// maxRouteBytes bounds a route; servers refuse much longer request lines.
const maxRouteBytes = 2048

// integration reads one entry. What is wrong is in r.problems, and the result is usable only where nothing was.
func (l *loader) integration(one element) *Integration {
	m := l.newMapping(one.node, one.path)
	i := &Integration{at: m.position()}
	i.Scope = m.scope()
	i.Route = m.route()
	i.Provider = m.required("provider")
	i.preset = m.preset(i.Provider)
	i.Methods = m.methods(i.preset)
	i.Enabled = m.flag("enabled", true)
	i.Paused = m.flag("paused", false)
	i.Credentials = l.credentials(m)
	i.Require = m.require()
	i.PublicURL = m.origin("public_url")
	i.UnsignedID = verify.UnsignedID(m.choice("unsigned_id", "", "bind", "trust"))
	i.Handshake = verify.Handshake(m.choice("handshake", "", "pass", "answer", "off"))
	i.Fingerprint = m.fingerprint()
	i.HMAC = m.scheme(i.Provider)
	i.Event = m.section("event").event()
	m.handling(i)
	m.queueing(i)
	m.done()
	return i
}

func (m *mapping) position() position {
	at := position{file: m.reader.file, path: m.path, lines: make(map[string]int, len(m.fields))}
	if m.node != nil {
		at.line = m.node.Line
	}
	for name, found := range m.fields {
		at.lines[name] = found.key.Line
	}
	return at
}

func (m *mapping) scope() delivery.Scope {
	account, name := m.required("account"), m.required("name")
	for key, value := range map[string]string{"account": account, "name": name} {
		if value == "" {
			continue
		}
		if err := delivery.CheckName(value); err != nil {
			m.fail(key, "%v", err)
			return ""
		}
	}
	if account == "" || name == "" {
		return ""
	}
	return delivery.Scope(account + "/" + name)
}

func (m *mapping) route() string {
	route := m.required("route")
	switch {
	case route == "":
	case !strings.HasPrefix(route, "/"):
		m.fail("route", "%q does not begin with a slash", route)
	case strings.ContainsAny(route, "?#"):
		m.fail("route", "%q has a query or fragment: a route is a path", route)
	case len(route) > maxRouteBytes:
		m.fail("route", "has more than %d bytes", maxRouteBytes)
	case strings.ContainsFunc(route, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		m.fail("route", "%q has a character that no request line has: write it percent-encoded", route)
	}
	return route
}

func (m *mapping) preset(provider string) verify.Preset {
	preset, known := verify.LookupPreset(provider)
	if provider != "" && !known {
		m.fail("provider", "%q is no provider%s", provider, hint(provider, providerNames()))
	}
	return preset
}

func providerNames() []string {
	var names []string
	for _, preset := range verify.Presets() {
		names = append(names, preset.Name)
	}
	return names
}

func (m *mapping) methods(preset verify.Preset) []string {
	fallback := preset.Methods
	if len(fallback) == 0 {
		fallback = []string{http.MethodPost}
	}
	methods := m.texts("methods", fallback)
	if len(methods) == 0 {
		m.fail("methods", "is empty: no delivery could come in")
	}
	for _, method := range methods {
		if !httpguts.ValidHeaderFieldName(method) || strings.ToUpper(method) != method || method == "*" {
			m.fail("methods", "%q is no method such as POST", method)
		}
	}
	return methods
}

func (m *mapping) require() map[string][]string {
	section := m.section("require")
	wanted := make(map[string][]string, len(section.fields))
	for pointer := range section.fields {
		if !strings.HasPrefix(pointer, "/") {
			section.fail(pointer, "is no JSON pointer such as /TopicArn")
		}
		wanted[pointer] = section.texts(pointer, nil)
		if len(wanted[pointer]) == 0 {
			section.fail(pointer, "allows no value")
		}
	}
	return wanted
}

// origin is scheme, host and port.
func (m *mapping) origin(name string) string {
	text := m.text(name, "")
	if text == "" {
		return ""
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") ||
		parsed.User != nil || strings.Trim(parsed.Path, "/") != "" || strings.ContainsAny(text, "?#") {
		m.fail(name, "want an origin such as https://hooks.example.com")
	}
	return strings.TrimRight(text, "/")
}

// fingerprint is the word body, or keys to include or exclude.
func (m *mapping) fingerprint() verify.Fingerprint {
	node := m.take("fingerprint")
	if node == nil {
		return verify.Fingerprint{}
	}
	if len(node.Content) == 0 && node.Value == "body" {
		return verify.Fingerprint{Body: true}
	}
	section := m.reader.newMapping(node, m.key("fingerprint"))
	shown := verify.Fingerprint{Include: section.texts("include", nil), Exclude: section.texts("exclude", nil)}
	section.done()
	if (len(shown.Include) == 0) == (len(shown.Exclude) == 0) {
		m.fail("fingerprint", "want body, or a list of JSON pointers under either include or exclude")
	}
	for _, pointer := range slices.Concat(shown.Include, shown.Exclude) {
		if !strings.HasPrefix(pointer, "/") {
			m.fail("fingerprint", "%q is no JSON pointer such as /data/id", pointer)
		}
	}
	return shown
}

// headerName is the name of a header in canonical form.
func (m *mapping) headerName(name, fallback string) string {
	text := m.text(name, fallback)
	if text != "" && !httpguts.ValidHeaderFieldName(text) {
		m.fail(name, "%q is no header name", text)
	}
	return textproto.CanonicalMIMEHeaderKey(text)
}

// window is a duration that must not be zero.
func (m *mapping) window(name string, fallback time.Duration) time.Duration {
	window := m.duration(name, fallback)
	if window == 0 {
		m.fail(name, "must be longer than 0")
	}
	return window
}

package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// variation is an attempt with one thing changed, and what that was.
type variation struct {
	attempt
	why string
}

// secrets are the attempt as it is, and with the live secrets read in other ways.
func (a attempt) secrets() []variation {
	out := []variation{{a, ""}}
	algorithm := macAlgorithm(a.scheme)
	if algorithm == "" {
		return out
	}
	for c := range a.keys.live(a.now) {
		for _, reading := range readings(c.Secret) {
			key, err := newMACKey(algorithm, reading.secret)
			if err != nil {
				continue
			}
			other := *c
			other.key = key
			one := a
			one.keys = ring{&other}
			out = append(out, variation{one, fmt.Sprintf("the secret of %s were read as %s", c.ID, reading.how)})
		}
	}
	return out
}

// macAlgorithm is the hash of a scheme with one shared secret; empty where there is none.
func macAlgorithm(s scheme) string {
	switch s := s.(type) {
	case *declared:
		if s.syntax.ed25519 {
			return ""
		}
		return s.algorithm
	case hubSpot:
		return s.algorithm
	case *twilio:
		return "sha1"
	case *mailgun, *adyen:
		return "sha256"
	}
	return ""
}

type reading struct {
	secret []byte
	how    string
}

// readings are the ways in which people write secrets.
func readings(secret []byte) []reading {
	trimmed := bytes.TrimSpace(secret)
	out := []reading{
		{secret, "raw text"}, {trimmed, "raw text without the white space around it"},
		{append(bytes.Clone(trimmed), '\n'), "raw text with a line end behind it"},
	}
	bare := trimmed
	if at := bytes.IndexByte(trimmed, '_'); at >= 0 && bytes.HasPrefix(trimmed, []byte("wh")) {
		bare = trimmed[at+1:]
		out = append(out, reading{bare, "raw text without its prefix"})
	}
	if decoded, err := hex.DecodeString(string(bare)); err == nil {
		out = append(out, reading{decoded, "hex"})
	}
	for _, coding := range []struct {
		encoding *base64.Encoding
		how      string
	}{
		{base64.StdEncoding, "base64"}, {base64.RawStdEncoding, "base64 without padding"},
		{base64.URLEncoding, "URL-safe base64"}, {base64.RawURLEncoding, "URL-safe base64 without padding"},
	} {
		if decoded, err := coding.encoding.DecodeString(string(bare)); err == nil {
			out = append(out, reading{decoded, coding.how})
		}
	}
	return out
}

// bodies are the attempt as it is, and with the body as it may have been before something changed it.
func (v variation) bodies() []variation {
	out := []variation{{v.attempt, ""}}
	add := func(body []byte, why string) {
		if bytes.Equal(body, v.delivery.Body) {
			return
		}
		copied := *v.delivery
		copied.Body = body
		one := v.attempt
		one.delivery = &copied
		out = append(out, variation{one, "the body " + why})
	}
	body := v.delivery.Body
	add(bytes.TrimRight(body, "\r\n"), "had no line end behind it")
	add(append(bytes.Clone(body), '\n'), "had a line end (LF) behind it")
	add(append(bytes.Clone(body), "\r\n"...), "had a line end (CRLF) behind it")
	add(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), "had LF in place of CRLF")
	add(bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n")), "had CRLF in place of LF")
	add(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), "had no byte order mark")
	add(append([]byte("\xef\xbb\xbf"), body...), "had a byte order mark")
	add(nil, "were empty")
	if plain, ok := decodeContent(v.delivery.Header, body); ok {
		add(plain, "were not compressed")
	}
	for _, form := range rewrites(body) {
		add(form.body, form.why)
	}
	return out
}

type rewrite struct {
	body []byte
	why  string
}

// rewrites are other spellings of a JSON document: something may have decoded it and written it again.
func rewrites(body []byte) []rewrite {
	var compact, two, four, tab bytes.Buffer
	if json.Compact(&compact, body) != nil {
		return nil
	}
	json.Indent(&two, compact.Bytes(), "", "  ")
	json.Indent(&four, compact.Bytes(), "", "    ")
	json.Indent(&tab, compact.Bytes(), "", "\t")
	out := []rewrite{
		{compact.Bytes(), "were compact JSON: something wrote it again"},
		{two.Bytes(), "were JSON indented by two spaces: something wrote it again"},
		{four.Bytes(), "were JSON indented by four spaces: something wrote it again"},
		{tab.Bytes(), "were JSON indented by tabs: something wrote it again"},
		{spaced(compact.Bytes()), "were JSON with a space behind commas and colons: something wrote it again"},
	}
	for _, form := range slices.Clone(out) {
		out = append(out,
			rewrite{escapeRunes(form.body, "\\u%04x"), "were JSON with lower-case \\u escapes for what is not ASCII: something wrote it again"},
			rewrite{escapeRunes(form.body, "\\u%04X"), "were JSON with upper-case \\u escapes for what is not ASCII: something wrote it again"},
			rewrite{bytes.ReplaceAll(form.body, []byte("/"), []byte(`\/`)), "were JSON with escaped slashes: something wrote it again"},
			rewrite{bytes.ReplaceAll(escapeRunes(form.body, "\\u%04x"), []byte("/"), []byte(`\/`)),
				"were JSON with escaped slashes and \\u escapes: something wrote it again"},
			rewrite{bytes.ReplaceAll(form.body, []byte(`\/`), []byte("/")), "were JSON without escaped slashes: something wrote it again"})
	}
	return append(out, sortedRewrites(body)...)
}

// sortedRewrites have their keys in order, as when a program decodes into maps.
func sortedRewrites(body []byte) []rewrite {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return nil
	}
	plain := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return []rewrite{
		{plain, "were JSON with sorted keys: something wrote it again"},
		{spaced(plain), "were JSON with sorted keys and spaces: something wrote it again"},
	}
}

// spaced puts a space behind the commas and colons between the values of compact JSON.
func spaced(compact []byte) []byte {
	var out []byte
	inside := false
	for i, c := range compact {
		out = append(out, c)
		switch {
		case c == '"' && !escaped(compact, i):
			inside = !inside
		case !inside && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

func escaped(text []byte, at int) bool {
	count := 0
	for at--; at >= 0 && text[at] == '\\'; at-- {
		count++
	}
	return count%2 == 1
}

func escapeRunes(text []byte, format string) []byte {
	var out []byte
	for _, char := range string(text) {
		switch {
		case char < utf8.RuneSelf:
			out = append(out, byte(char))
		case char > 0xffff:
			char -= 0x10000
			out = fmt.Appendf(out, format+format, 0xd800+char>>10, 0xdc00+char&0x3ff)
		default:
			out = fmt.Appendf(out, format, char)
		}
	}
	return out
}

// urls are the attempt as it is, and for schemes that sign the URL with others that the sender may have called.
func (v variation) urls() []variation {
	out := []variation{{v.attempt, ""}}
	origin := signedOrigin(v.scheme)
	if origin == "" {
		return out
	}
	parsed, err := url.Parse(origin)
	if err != nil {
		return out
	}
	path, query, hasQuery := strings.Cut(v.delivery.Target, "?")
	other := *parsed
	other.Scheme = map[string]string{"http": "https", "https": "http"}[parsed.Scheme]
	host := *parsed
	host.Host = v.delivery.Host
	bare := *parsed
	bare.Host = parsed.Hostname()
	tail := ""
	if hasQuery {
		tail = "?" + query
	}
	for _, try := range []struct{ origin, target, why string }{
		{other.String(), v.delivery.Target, "public_url began with " + other.Scheme},
		{host.String(), v.delivery.Target, "public_url had the host of the request"},
		{bare.String(), v.delivery.Target, "public_url had no port"},
		{origin, path + "/" + tail, "the path had a slash at its end"},
		{origin, strings.TrimSuffix(path, "/") + tail, "the path had no slash at its end"},
		{origin, path, "the URL had no query"},
	} {
		one := v.attempt
		one.scheme = withOrigin(v.scheme, try.origin)
		copied := *v.delivery
		copied.Target = try.target
		one.delivery = &copied
		out = append(out, variation{one, try.why})
	}
	return out
}

// signedOrigin is the public origin of a scheme that signs the URL; empty for others.
func signedOrigin(s scheme) string {
	switch s := s.(type) {
	case *declared:
		if s.template.has(pieceURL) {
			return s.origin
		}
	case hubSpot:
		return s.origin
	case *twilio:
		if len(s.origins) > 0 {
			return s.origins[0]
		}
	case *messageSignature:
		return s.origin
	}
	return ""
}

func withOrigin(s scheme, origin string) scheme {
	switch s := s.(type) {
	case *declared:
		other := *s
		other.origin = origin
		return &other
	case hubSpot:
		other := *s.declared
		other.origin = origin
		return hubSpot{&other}
	case *twilio:
		return &twilio{twilioOrigins(origin)}
	}
	return &messageSignature{origin}
}

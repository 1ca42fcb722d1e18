package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
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

package verify

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// formField finds a field of a form body. It is repeated where the field occurs twice, and malformed where the body is no
// form as far as it was read.
func formField(body []byte, name string) (value string, found, repeated, malformed bool) {
	for rest, more := string(body), true; more; {
		var pair string
		pair, rest, more = strings.Cut(rest, "&")
		rawName, rawValue, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(rawName)
		if err != nil {
			malformed = true
			continue
		}
		if key != name {
			continue
		}
		if found {
			repeated = true
		}
		found = true
		if value, err = url.QueryUnescape(rawValue); err != nil {
			malformed = true
		}
	}
	return value, found, repeated, malformed
}

// mediaType is the type that a delivery declares for its body, in lower case; empty where it declares none or nonsense.
func mediaType(h http.Header) string {
	values := h["Content-Type"]
	if len(values) != 1 {
		return ""
	}
	kind, _, err := mime.ParseMediaType(values[0])
	if err != nil {
		return ""
	}
	return kind
}

func declaresForm(h http.Header) bool { return mediaType(h) == "application/x-www-form-urlencoded" }

func declaresJSON(h http.Header) bool {
	kind := mediaType(h)
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

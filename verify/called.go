package verify

import (
	"net/url"
	"strings"
)

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

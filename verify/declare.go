package verify

import (
	"fmt"
	"net/http"
)

// declare makes the builder of a preset whose scheme is data: a template of what is signed, and how the secret is written
// (raw, hex, base64, or whsec for Standard Webhooks). A name of a header is put into its canonical form.
func declare(s declared, signed, secret string) func(Config) (scheme, error) {
	return func(cfg Config) (scheme, error) {
		made := s
		var err error
		if made.template, err = parseTemplate(signed); err != nil {
			return nil, err
		}
		if _, made.size, err = digest(s.algorithm); err != nil {
			return nil, err
		}
		if s.timeField != "" {
			if made.bodyTime, err = newBodyStamp(s.timeField, s.timeUnit, s.tolerance); err != nil {
				return nil, err
			}
		}
		made.origin = cfg.PublicURL
		made.variants = canonicalNames(s.variants)
		if made.secret, err = secretReader(s, secret); err != nil {
			return nil, err
		}
		return &made, nil
	}
}

func secretReader(s declared, form string) (func([]byte) (any, error), error) {
	switch {
	case s.secret != nil:
		return s.secret, nil
	case form == "raw" || form == "hex" || form == "base64":
		return macSecret(s.algorithm, form), nil
	}
	return nil, fmt.Errorf("unknown form of secrets %q", form)
}

func canonicalNames(all []names) []names {
	out := make([]names, len(all))
	for i, n := range all {
		for _, name := range n.signatures {
			out[i].signatures = append(out[i].signatures, http.CanonicalHeaderKey(name))
		}
		out[i].timestamp = http.CanonicalHeaderKey(n.timestamp)
		out[i].id = http.CanonicalHeaderKey(n.id)
	}
	return out
}

package verify

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// defaultTolerance is how far a signed time may be off where the operator says nothing.
const defaultTolerance = 5 * time.Minute

// newGeneric builds the scheme that an operator declared. Its errors are joined and name their fields.
func newGeneric(cfg Config) (scheme, error) {
	h := cfg.HMAC
	if h == nil {
		return nil, errors.New("hmac: provider hmac needs the scheme spelled out")
	}
	parsed, templateErr := parseTemplate(h.Signed)
	s := &declared{algorithm: h.Algorithm, template: parsed, unit: h.unit(), tolerance: h.Tolerance}
	_, size, algorithmErr := digest(h.Algorithm)
	s.size = size
	s.origin = cfg.PublicURL
	s.syntax = syntax{separator: ',', prefix: h.Prefix, encoding: h.Encoding}
	s.keyID = canonical(h.KeyID)
	s.variants = []names{{[]string{canonical(h.Header)}, canonical(h.Timestamp.Header), ""}}
	if parsed.has(pieceID) {
		s.variants[0].id = canonical(cfg.Event.ID.Header)
	}
	if s.unit != "" && s.tolerance == 0 {
		s.tolerance = defaultTolerance
	}
	s.secret = macSecret(h.Algorithm, h.SecretEncoding)
	return s, errors.Join(
		field("hmac.algorithm", algorithmErr),
		field("hmac.signed", templateErr),
		h.check(cfg, parsed),
	)
}

func macSecret(algorithm, form string) func([]byte) (any, error) {
	_, _, err := digest(algorithm)
	refused := errors.Join(err, oneOf(form, "", "raw", "hex", "base64")) != nil
	return func(secret []byte) (any, error) {
		if refused {
			return nil, nil // the configuration is refused for that alone; this secret is not at fault
		}
		decoded, err := decodeSecret(secret, form)
		if err != nil {
			return nil, err
		}
		return newMACKey(algorithm, decoded)
	}
}

func canonical(name string) string { return http.CanonicalHeaderKey(name) }

func field(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (h *HMAC) unit() string {
	switch {
	case h.Timestamp.Header == "":
		return ""
	case h.Timestamp.Unit == "":
		return unitSeconds
	}
	return h.Timestamp.Unit
}

func (h *HMAC) check(cfg Config, signed template) error {
	return errors.Join(
		field("hmac.header", checkHeader(h.Header, true)),
		field("hmac.encoding", oneOf(h.Encoding, "hex", "base64")),
		field("hmac.secret_encoding", oneOf(h.SecretEncoding, "", "raw", "hex", "base64")),
		field("hmac.timestamp.header", checkHeader(h.Timestamp.Header, false)),
		field("hmac.timestamp.unit", oneOf(h.Timestamp.Unit, "", unitSeconds, unitMillis)),
		field("hmac.key_id.header", checkHeader(h.KeyID, false)),
		field("hmac.tolerance", h.checkTolerance()),
		field("hmac.signed", h.checkSigned(cfg, signed)),
	)
}

func (h *HMAC) checkTolerance() error {
	switch {
	case h.Tolerance < 0:
		return errors.New("below zero")
	case h.Tolerance > 0 && h.Timestamp.Header == "":
		return errors.New("means nothing without hmac.timestamp.header")
	}
	return nil
}

func (h *HMAC) checkSigned(cfg Config, signed template) error {
	var faults []error
	if !signed.has(pieceBody) {
		faults = append(faults, errors.New("{body} is missing: a signature that does not cover the body proves nothing about it"))
	}
	if signed.has(pieceTimestamp) != (h.Timestamp.Header != "") {
		faults = append(faults, errors.New("{timestamp} and hmac.timestamp.header go together: a time that is not signed proves nothing"))
	}
	if signed.has(pieceID) && cfg.Event.ID.Header == "" {
		faults = append(faults, errors.New("{id} needs event.id.header"))
	}
	if signed.has(pieceURL) && cfg.PublicURL == "" {
		faults = append(faults, errors.New("{url} needs public_url"))
	}
	return errors.Join(append(faults, signed.checkCuts())...)
}

func checkHeader(name string, needed bool) error {
	switch {
	case name == "" && needed:
		return errors.New("missing")
	case name != "" && !validHeader(name):
		return fmt.Errorf("%q is no header name", name)
	}
	return nil
}

func oneOf(value string, allowed ...string) error {
	for _, one := range allowed {
		if value == one {
			return nil
		}
	}
	return fmt.Errorf("%q is none of %q", value, allowed)
}

// checkOrigin tells what is wrong with the origin that a sender calls.
func checkOrigin(origin string) error {
	if origin == "" {
		return nil
	}
	parsed, err := url.Parse(origin)
	switch {
	case err != nil:
		return errors.New("not a URL")
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return errors.New("not an https or http URL")
	case parsed.Host == "":
		return errors.New("has no host")
	case parsed.Path != "" || parsed.RawQuery != "" || parsed.Fragment != "" || parsed.ForceQuery:
		return errors.New("is an origin only: no path, query or fragment, and no slash at the end")
	}
	return nil
}

package verify

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// base is the text under a signature: a line for each component, and the parameters as received.
func (s *messageSignature) base(d *delivery.Delivery, input fieldItem) ([]byte, *Rejection) {
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, c := range input.components {
		value, rejection := s.value(d, c)
		if rejection != nil {
			return nil, rejection
		}
		if seen[c.source] || strings.ContainsAny(value, "\r\n") {
			return nil, reject(SignatureMalformed)
		}
		seen[c.source] = true
		out.WriteString(c.source + ": " + value + "\n")
	}
	out.WriteString(`"@signature-params": ` + input.source)
	return out.Bytes(), nil
}

func (s *messageSignature) value(d *delivery.Delivery, c component) (string, *Rejection) {
	if !strings.HasPrefix(c.name, "@") {
		return fieldValue(d, c.name)
	}
	path, query, _ := strings.Cut(d.Target, "?")
	switch c.name {
	case "@method":
		return d.Method, nil
	case "@path":
		return path, nil
	case "@query":
		return "?" + query, nil
	case "@query-param":
		return queryParameter(query, c.param)
	}
	origin, err := url.Parse(s.origin)
	if s.origin == "" || err != nil {
		return "", reject(PublicURLMissing)
	}
	switch c.name {
	case "@authority":
		return authority(origin), nil
	case "@scheme":
		return origin.Scheme, nil
	case "@target-uri":
		return s.origin + d.Target, nil
	}
	return "", reject(SignatureMalformed) // a component outside the profile
}

// authority is the public host in lower case, without the default port.
func authority(origin *url.URL) string {
	host := strings.ToLower(origin.Host)
	if origin.Scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// queryParameter is the value of the only parameter of this name, encoded again as RFC 9421 wants it.
func queryParameter(query, name string) (string, *Rejection) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", reject(SignatureMalformed)
	}
	wanted, err := url.QueryUnescape(name)
	if err != nil || len(values[wanted]) != 1 {
		return "", reject(SignedPartMissing)
	}
	return strings.ReplaceAll(url.QueryEscape(values[wanted][0]), "+", "%20"), nil
}

// fieldValue joins the lines of a header field.
func fieldValue(d *delivery.Delivery, name string) (string, *Rejection) {
	lines := d.Header[canonical(name)]
	switch {
	case name == "content-length" && len(lines) == 0:
		return strconv.Itoa(len(d.Body)), nil
	case name == "host":
		return d.Host, nil
	case len(lines) == 0:
		return "", reject(SignedPartMissing)
	}
	trimmed := make([]string, len(lines))
	for i, line := range lines {
		trimmed[i] = strings.Trim(line, " \t")
	}
	return strings.Join(trimmed, ", "), nil
}

// messageKey reads a public key in PEM, or else the base64 of a shared secret.
func messageKey(secret []byte) (any, error) {
	block, _ := pem.Decode(secret)
	if block == nil {
		shared, err := decodeSecret(secret, "base64")
		if err != nil {
			return nil, errors.New("neither a PEM public key nor base64")
		}
		return newMACKey("sha256", shared)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a PEM public key")
	}
	switch key := parsed.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() >= 2048 {
			return key, nil
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() {
			return key, nil
		}
	case ed25519.PublicKey:
		return key, nil
	}
	return nil, errors.New("the key is of none of the kinds RSA from 2048 bits, P-256, P-384, Ed25519")
}

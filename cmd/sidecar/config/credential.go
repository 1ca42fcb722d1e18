package config

import (
	"github.com/webhook-sidecar/webhook-sidecar/delivery"
	"github.com/webhook-sidecar/webhook-sidecar/verify"
)

// maxCredentials bounds the keys that a delivery is tried with.
const maxCredentials = 20

func (l *loader) credentials(m *mapping) []Credential {
	elements := m.list("credentials")
	if len(elements) == 0 {
		m.fail("credentials", "is missing: nothing could be verified")
	}
	if len(elements) > maxCredentials {
		m.fail("credentials", "has more than %d entries", maxCredentials)
	}
	seen := make(map[string]int, len(elements))
	var credentials []Credential
	for _, one := range elements {
		section := l.newMapping(one.node, one.path)
		credential := l.credential(section)
		if first, twice := seen[credential.ID]; twice && credential.ID != "" {
			section.fail("id", "%s is used twice, first on line %d", credential.ID, first)
		}
		seen[credential.ID] = credential.line
		credentials = append(credentials, credential)
	}
	return credentials
}

func (l *loader) credential(m *mapping) Credential {
	credential := Credential{Credential: verify.Credential{
		ID:        m.required("id"),
		Status:    verify.Status(m.choice("status", "active", "active", "retiring", "revoked")),
		NotBefore: m.instant("not_before"),
		NotAfter:  m.instant("not_after"),
	}}
	if m.node != nil {
		credential.line = m.node.Line
	}
	if credential.ID != "" {
		if err := delivery.CheckName(credential.ID); err != nil {
			m.fail("id", "%v", err)
		}
	}
	if !credential.NotAfter.IsZero() && !credential.NotBefore.Before(credential.NotAfter) {
		m.fail("not_after", "is not after not_before")
	}
	if !m.has("secret") {
		m.fail("secret", "is missing")
	}
	l.secret(m.section("secret"), &credential)
	m.done()
	return credential
}

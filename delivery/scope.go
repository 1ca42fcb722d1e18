package delivery

import (
	"fmt"
	"strings"
)

// maxNameBytes bounds the names of accounts and integrations.
const maxNameBytes = 64

// Scope is the namespace of event IDs, written account/integration. It comes from the credential that verified a
// delivery, never from the payload.
type Scope string

// NewScope joins the names of an account and an integration, each 1 to 64 bytes of [A-Za-z0-9._-].
func NewScope(account, integration string) (Scope, error) {
	if err := CheckName(account); err != nil {
		return "", fmt.Errorf("account: %w", err)
	}
	if err := CheckName(integration); err != nil {
		return "", fmt.Errorf("integration: %w", err)
	}
	return Scope(account + "/" + integration), nil
}

// ParseScope reads what String writes.
func ParseScope(text string) (Scope, error) {
	account, integration, found := strings.Cut(text, "/")
	if !found {
		return "", fmt.Errorf("scope %q is not account/integration", text)
	}
	return NewScope(account, integration)
}

// CheckName tells what is wrong with the name of an account or an integration.
func CheckName(name string) error {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Errorf("name %q has %d bytes, want 1 to %d", name, len(name), maxNameBytes)
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return fmt.Errorf("name %q has a character outside A-Z a-z 0-9 . _ -", name)
		}
	}
	return nil
}

func nameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '-'
}

// Account is the part before the slash.
func (s Scope) Account() string {
	account, _, _ := strings.Cut(string(s), "/")
	return account
}

// Integration is the part behind the slash.
func (s Scope) Integration() string {
	_, integration, _ := strings.Cut(string(s), "/")
	return integration
}

// String is account/integration.
func (s Scope) String() string { return string(s) }

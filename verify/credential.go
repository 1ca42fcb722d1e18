package verify

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/webhook-sidecar/webhook-sidecar/delivery"
)

// CredentialInfo is what may be shown of a credential.
type CredentialInfo struct {
	ID        string
	Status    Status
	NotBefore time.Time // zero: always
	NotAfter  time.Time // zero: for ever
	// Fingerprint is the first 12 hex digits of SHA-256 over the secret, to compare two places with. It is empty where
	// there is no secret: the sender's certificate is fetched.
	Fingerprint string
}

// credential is a Credential whose secret was read.
type credential struct {
	Credential
	key any // of the scheme's own kind; nil when revoked
}

// live tells whether the credential verifies at a time. Both ends of its validity count as valid.
func (c *credential) live(now time.Time) bool {
	if c.Status == Revoked || c.key == nil {
		return false
	}
	early := !c.NotBefore.IsZero() && now.Before(c.NotBefore)
	late := !c.NotAfter.IsZero() && now.After(c.NotAfter)
	return !early && !late
}

func (c *credential) info() CredentialInfo {
	return CredentialInfo{c.ID, c.Status, c.NotBefore, c.NotAfter, fingerprintSecret(c.Secret)}
}

func fingerprintSecret(secret []byte) string {
	if len(secret) == 0 {
		return ""
	}
	sum := delivery.HashParts([]byte("webhook-sidecar credential fingerprint"), secret)
	return hex.EncodeToString(sum[:6])
}

// ring is the credentials of one integration in the order of the configuration.
type ring []*credential

func (r ring) live(now time.Time) iter.Seq[*credential] {
	return func(yield func(*credential) bool) {
		for _, c := range r {
			if c.live(now) && !yield(c) {
				return
			}
		}
	}
}

func newRing(credentials []Credential, s scheme) (ring, error) {
	if len(credentials) == 0 {
		return nil, errors.New("credentials: none")
	}
	var out ring
	var faults []error
	seen := map[string]*credential{}
	for i, c := range credentials {
		made, err := newCredential(c, s)
		if err == nil && seen[c.ID] != nil {
			err = errors.New("used twice")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("credentials.%s: %w", nameOf(c, i), err))
			continue
		}
		seen[c.ID] = made
		out = append(out, made)
	}
	return out, errors.Join(append(faults, revokedTwins(out)...)...)
}

func nameOf(c Credential, index int) string {
	if delivery.CheckName(c.ID) != nil {
		return fmt.Sprint(index)
	}
	return c.ID
}

// revokedTwins finds secrets that are revoked under one name and live under another: the revocation would do nothing.
func revokedTwins(all ring) []error {
	var faults []error
	for _, dead := range all {
		for _, other := range all {
			same := len(dead.Secret) > 0 && string(dead.Secret) == string(other.Secret)
			if same && dead.Status == Revoked && other.Status != Revoked {
				faults = append(faults, fmt.Errorf("credentials.%s: same secret as %s, which is revoked", other.ID, dead.ID))
			}
		}
	}
	return faults
}

func newCredential(c Credential, s scheme) (*credential, error) {
	if err := delivery.CheckName(c.ID); err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	if c.Status == "" {
		c.Status = Active
	}
	if c.Status != Active && c.Status != Retiring && c.Status != Revoked {
		return nil, fmt.Errorf("status: %q is none of active, retiring, revoked", c.Status)
	}
	if !c.NotBefore.IsZero() && !c.NotAfter.IsZero() && !c.NotBefore.Before(c.NotAfter) {
		return nil, errors.New("not_after: not behind not_before")
	}
	made := &credential{Credential: c}
	if c.Status == Revoked {
		return made, nil // it never verifies, so its secret may already be gone
	}
	key, err := readKey(c, s)
	made.key = key
	return made, err
}

func readKey(c Credential, s scheme) (any, error) {
	if c.Fetch {
		fetches, ok := s.(fetcher)
		if !ok {
			return nil, errors.New("secret: this sender has no certificate to fetch")
		}
		return fetches.fetched()
	}
	if err := checkSecret(c.Secret); err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	key, err := s.key(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	return key, nil
}
